"""Public names that stand in the text as code, such as `TTT` or `mttt.TTT`, link to where they are documented."""

from docutils import nodes
from public_names import public
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform

import mttt


class LinkedCode(SphinxPostTransform):
    """Runs before references are resolved."""

    default_priority = 5

    def run(self, **kwargs):
        """Make references of literals that are names, outside of links and of the name's own entry."""
        names = public()
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().removeprefix("mttt.")
            if (
                name not in names
                or isinstance(literal.parent, nodes.reference | pending_xref)
                or _inside(literal, name)
            ):
                continue
            kind = {True: "class", False: "func"}[isinstance(getattr(mttt, name), type)]
            reference = pending_xref(
                "", refdomain="py", reftype=kind if callable(getattr(mttt, name)) else "data", reftarget=f"mttt.{name}"
            )
            reference["refdoc"], reference["py:module"], reference["py:class"] = self.env.docname, None, None
            literal.replace_self(reference)
            reference += literal


def _inside(node: nodes.Node, name: str) -> bool:
    """Whether the node is part of the entry of this name."""
    while (node := node.parent) is not None:
        if isinstance(node, nodes.Element) and node.tagname == "desc" and f"mttt.{name}" in node[0].get("ids", []):
            return True
    return False


def setup(app):
    """Add the transform."""
    app.add_post_transform(LinkedCode)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
