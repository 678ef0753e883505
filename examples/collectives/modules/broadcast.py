"""What device 0 has, at all devices of a ring: along the ring, and over the cubes of each device."""

from published import _spread, kernel_args  # noqa: F401

TOPO_NAME_TO_KIND = {"ring_1d": 0}


def kernel(t_ptr, n_elem, cube_w, cube_h, n_sips, sip_rank, sip_topo_kind, sip_topo_w, sip_topo_h, *, tl):
    if sip_topo_kind != 0:
        raise ValueError(f"unsupported topology kind {sip_topo_kind}")
    cube_id = tl.program_id(axis=1)
    row, col = divmod(cube_id, cube_w)
    root_row, root_col = cube_h // 2, cube_w // 2
    pe_addr = t_ptr + cube_id * n_elem * 2
    held = tl.load(pe_addr, shape=(n_elem,), dtype="f16")
    if (row, col) == (root_row, root_col):
        held = _spread(tl, held, n_elem, sip_rank, n_sips, 0, "global_E", "global_W")
    if col == root_col:
        held = _spread(tl, held, n_elem, row, cube_h, root_row, "S", "N")
    held = _spread(tl, held, n_elem, col, cube_w, root_col, "E", "W")
    tl.store(pe_addr, held)
