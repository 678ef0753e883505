"""The same all-reduce with equal bits everywhere: around a ring too, one device adds, and the sum goes back."""

from published import SIP_TOPO_MESH, SIP_TOPO_RING, SIP_TOPO_TORUS, TOPO_NAME_TO_KIND, kernel_args  # noqa: F401
from published import _gather, _line, _spread


def kernel(t_ptr, n_elem, cube_w, cube_h, n_sips, sip_rank, sip_topo_kind, sip_topo_w, sip_topo_h, *, tl):
    cube_id = tl.program_id(axis=1)
    row, col = divmod(cube_id, cube_w)
    root_row, root_col = cube_h // 2, cube_w // 2
    pe_addr = t_ptr + cube_id * n_elem * 2
    acc = tl.load(pe_addr, shape=(n_elem,), dtype="f16")
    acc = _gather(tl, acc, n_elem, col, cube_w, root_col, "E", "W")
    if col == root_col:
        acc = _gather(tl, acc, n_elem, row, cube_h, root_row, "S", "N")
    if (row, col) == (root_row, root_col):
        # A ring is a line whose last link is not used.
        w, h = (n_sips, 1) if sip_topo_kind == SIP_TOPO_RING else (sip_topo_w, sip_topo_h)
        if sip_topo_kind not in (SIP_TOPO_RING, SIP_TOPO_TORUS, SIP_TOPO_MESH):
            raise ValueError(f"unsupported topology kind {sip_topo_kind}")
        y, x = divmod(sip_rank, w)
        acc = _line(tl, acc, n_elem, x, w, "global_E", "global_W")
        acc = _line(tl, acc, n_elem, y, h, "global_S", "global_N")
    if col == root_col:
        acc = _spread(tl, acc, n_elem, row, cube_h, root_row, "S", "N")
    acc = _spread(tl, acc, n_elem, col, cube_w, root_col, "E", "W")
    tl.store(pe_addr, acc)
