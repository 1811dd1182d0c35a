"""
polywire: one contract for chat models, many wires.

The public names are imported when first used, so that `import polywire` costs next to nothing.
"""

from __future__ import annotations
