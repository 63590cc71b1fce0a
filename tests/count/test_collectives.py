"""What is sent is read off a compiled program."""

from mttt.count.collectives import Collective, collectives

PROGRAM = """HloModule jit_step, is_scheduled=true

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  ROOT %sum = f32[] add(%x, %x)
}

%inner (p: (s32[], f32[4,8])) -> (s32[], f32[4,8]) {
  %p = (s32[], f32[4,8]) parameter(0)
  %part = (f32[4,8]{1,0}, bf16[2]{0}) all-reduce(%a, %b), replica_groups={}, to_apply=%add
  ROOT %t = (s32[], f32[4,8]) tuple(%i, %part)
}

%outer (p: (s32[], f32[4,8])) -> (s32[], f32[4,8]) {
  %p = (s32[], f32[4,8]) parameter(0)
  ROOT %w = (s32[], f32[4,8]) while(%p), condition=%less, body=%inner, backend_config={"known_trip_count":{"n":"3"}}
}

ENTRY %main (x: f32[4,8]) -> f32[4,8] {
  %x = f32[4,8]{1,0} parameter(0)
  %all = f32[16,8]{1,0} all-gather-start(%x), dimensions={0}
  %w = (s32[], f32[4,8]) while(%x), condition=%less, body=%outer, backend_config={"known_trip_count":{"n":"5"}}
  ROOT %r = f32[4,8] get-tuple-element(%w), index=1
}
"""


def test_loops_count_each_time_round():
    assert collectives(PROGRAM) == [
        Collective("all-gather", 16 * 8 * 4, 1),
        Collective("all-reduce", 4 * 8 * 4 + 4, 15),
    ]
