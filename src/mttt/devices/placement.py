"""Which part of a training is on which device."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from mttt.fields import FieldError
from mttt.nn.axis import DATA, SEQUENCE


def _divisors(number: int, most: int) -> list[int]:
    return [size for size in range(1, min(number, most) + 1) if number % size == 0]


def _words(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


class Placement(NamedTuple):
    """A mesh of devices, `data` × `sequence`: rows of a batch over one axis, tokens of an input over the other.

    It decides no number but for rounding, with one exception: mini-batches of inner steps are drawn inside each part
    of the tokens.
    """

    mesh: Mesh
    sharded: bool
    """are parameters and optimizer state split over the data axis, or is there a copy on every device?"""

    @property
    def data(self) -> int:
        return self.mesh.shape[DATA]

    @property
    def sequence(self) -> int:
        return self.mesh.shape[SEQUENCE]

    def __str__(self) -> str:
        count = self.data * self.sequence
        if count == 1:
            return f"1 device ({self.mesh.devices.flat[0].device_kind})"
        parts = [f"data {self.data}"] + [f"sequence {self.sequence}"] * (self.sequence > 1)
        parameters = ", sharded parameters" if self.sharded else ""
        return f"{count} devices ({self.mesh.devices.flat[0].device_kind}): {' × '.join(parts)}{parameters}"

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Layers find the mesh in the context."""
        with jax.set_mesh(self.mesh):
            yield

    def check(self, batch_size: int, tokens: int, accumulated: int = 1) -> None:
        """Refuse a batch, made of so many accumulated parts, or a number of tokens that does not divide."""
        rows = batch_size // accumulated
        if rows % self.data:
            fit, unit = _divisors(rows, self.data), self.data * accumulated
            nearest = [size for size in (batch_size // unit * unit, -(-batch_size // unit) * unit) if size]
            parts = f" in {accumulated} accumulated parts" if accumulated > 1 else ""
            raise FieldError(
                "devices.data",
                self.data,
                f"a batch of {batch_size}{parts} does not divide over {self.data} devices; "
                f"take {_words(fit)}, or a batch_size of {' or '.join(map(str, nearest))}",
            )
        if tokens % self.sequence:
            raise FieldError(
                "devices.sequence",
                self.sequence,
                f"{tokens} tokens do not divide into {self.sequence} equal parts; "
                f"take {_words(_divisors(tokens, self.mesh.size))}",
            )

    def memory_share(self) -> float:
        """Which part of what is split over the devices is in one memory, at least: that of a device, or of a host."""
        devices = self.mesh.devices.flatten().tolist()
        on_host = [device for device in devices if device.process_index == jax.process_index()]
        return (len(on_host) if devices[0].platform == "cpu" else 1) / len(devices)

    def rows(self) -> NamedSharding:
        """Of arrays that have a row for each example."""
        return NamedSharding(self.mesh, PartitionSpec(DATA))

    def everywhere(self) -> NamedSharding:
        """A copy on every device."""
        return NamedSharding(self.mesh, PartitionSpec())

    def of_state(self, shapes: Any) -> Any:
        """A sharding for each array of a state, of parameters, or of shapes of them."""
        return jax.tree.map(self._of_array, shapes)

    def _of_array(self, array: Any) -> NamedSharding:
        """Split along the largest axis that divides, the last one of several."""
        axes = [axis for axis, size in enumerate(array.shape) if size % self.data == 0 and size]
        if not self.sharded or self.data == 1 or not axes or jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
            return self.everywhere()
        axis = max(axes, key=lambda axis: (array.shape[axis], axis))
        return NamedSharding(self.mesh, PartitionSpec(*[DATA if at == axis else None for at in range(axis + 1)]))

    def own_rows(self, batch_size: int) -> range:
        """The rows of every batch that this process has to make."""
        slices = self.rows().addressable_devices_indices_map((batch_size,)).values()
        bounds = [index[0].indices(batch_size)[:2] for index in slices if index is not None]
        return range(min(begin for begin, _ in bounds), max(end for _, end in bounds))

    def put_rows(self, batch: Any) -> Any:
        """The rows that this process has made, as its part of a batch of all processes."""
        sharding = self.rows()
        return jax.tree.map(lambda a: jax.make_array_from_process_local_data(sharding, np.asarray(a)), batch)

    def get(self, arrays: Any) -> Any:
        """Arrays that are split over processes, where each process can read them."""
        if jax.process_count() == 1:
            return arrays
        return jax.jit(lambda arrays: arrays, out_shardings=self.everywhere())(arrays)

    def put(self, tree: Any) -> Any:
        """Arrays that every process has, where they belong."""
        arrays, rest = eqx.partition(tree, eqx.is_array)
        return eqx.combine(jax.device_put(arrays, self.of_state(arrays)), rest)


def placement_of(*, data: int | None = None, sequence: int = 1, sharded: bool = False) -> Placement:
    """A mesh of the devices that there are. By default all of them share the rows of a batch."""
    devices = jax.devices()
    most = len(devices)
    if sequence < 1 or sequence > most:
        raise FieldError("devices.sequence", sequence, f"there {_count(most)}; take 1 to {most}")
    if data is None:
        if most % sequence:
            fit = _words(_divisors(most, most))
            raise FieldError(
                "devices.sequence", sequence, f"it does not divide {most} devices; take {fit}, or give devices.data too"
            )
        data = most // sequence
    if data < 1 or data * sequence > most:
        reason = f"{data} × {sequence} devices are asked for, and there {_count(most)}; take 1 to {most // sequence}"
        raise FieldError("devices.data", data, reason)
    processes = jax.process_count()
    if processes > 1 and data * sequence != most:
        reason = f"{data} × {sequence} of {most} devices: every device of all {processes} processes has to take part"
        raise FieldError("devices.data", data, reason)
    chosen = np.asarray(devices[: data * sequence]).reshape(data, sequence)
    return Placement(Mesh(chosen, (DATA, SEQUENCE), axis_types=(AxisType.Auto,) * 2), sharded)


def _count(devices: int) -> str:
    return "is 1 device" if devices == 1 else f"are {devices} devices"
