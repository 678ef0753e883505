"""An all-reduce in the form of the module contract: cubes reduce to the middle, devices exchange, the middle spreads the sum.

Around a ring, every device adds what comes as it comes, as the first algorithm of this kind does.
"""

SIP_TOPO_RING = 0
SIP_TOPO_TORUS = 1
SIP_TOPO_MESH = 2

TOPO_NAME_TO_KIND = {"ring_1d": SIP_TOPO_RING, "torus_2d": SIP_TOPO_TORUS, "mesh_2d_no_wrap": SIP_TOPO_MESH}


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4):
    return (n_elem, cube_w, cube_h, world_size)


def _gather(tl, acc, n, place, extent, to, up, down):
    """Reduces a line to one place; the lower arm is added first."""

    def take(direction):
        return acc + tl.recv(dir=direction, shape=(n,), dtype="f16")

    if place < to:
        acc = take(down) if place > 0 else acc
        tl.send(dir=up, src=acc)
    elif place > to:
        acc = take(up) if place + 1 < extent else acc
        tl.send(dir=down, src=acc)
    else:
        acc = take(down) if to > 0 else acc
        acc = take(up) if to + 1 < extent else acc
    return acc


def _spread(tl, acc, n, place, extent, root, up, down):
    """Passes on what one place of a line holds."""
    if place < root:
        acc = tl.recv(dir=up, shape=(n,), dtype="f16")
    elif place > root:
        acc = tl.recv(dir=down, shape=(n,), dtype="f16")
    if 0 < place <= root:
        tl.send(dir=down, src=acc)
    if root <= place < extent - 1:
        tl.send(dir=up, src=acc)
    return acc


def _ring(tl, acc, n, extent, to, back):
    passing = acc
    for _ in range(extent - 1):
        tl.send(dir=to, src=passing)
        passing = tl.recv(dir=back, shape=(n,), dtype="f16")
        acc = acc + passing
    return acc


def _line(tl, acc, n, place, extent, up, down):
    acc = _gather(tl, acc, n, place, extent, extent - 1, up, down)
    return _spread(tl, acc, n, place, extent, extent - 1, up, down)


def my_allreduce(t_ptr, n_elem, cube_w, cube_h, n_sips, sip_rank, sip_topo_kind, sip_topo_w, sip_topo_h, *, tl):
    cube_id = tl.program_id(axis=1)
    row, col = divmod(cube_id, cube_w)
    root_row, root_col = cube_h // 2, cube_w // 2
    pe_addr = t_ptr + cube_id * n_elem * 2
    acc = tl.load(pe_addr, shape=(n_elem,), dtype="f16")
    single_cube = cube_w == 1 and cube_h == 1
    if not single_cube:
        acc = _gather(tl, acc, n_elem, col, cube_w, root_col, "E", "W")
        if col == root_col:
            acc = _gather(tl, acc, n_elem, row, cube_h, root_row, "S", "N")
    if (row, col) == (root_row, root_col):
        if sip_topo_kind == SIP_TOPO_RING:
            acc = _ring(tl, acc, n_elem, n_sips, "global_E", "global_W")
        elif sip_topo_kind == SIP_TOPO_TORUS:
            acc = _ring(tl, acc, n_elem, sip_topo_w, "global_E", "global_W")
            acc = _ring(tl, acc, n_elem, sip_topo_h, "global_S", "global_N")
        elif sip_topo_kind == SIP_TOPO_MESH:
            y, x = divmod(sip_rank, sip_topo_w)
            acc = _line(tl, acc, n_elem, x, sip_topo_w, "global_E", "global_W")
            acc = _line(tl, acc, n_elem, y, sip_topo_h, "global_S", "global_N")
        else:
            raise ValueError(f"unsupported topology kind {sip_topo_kind}")
    if not single_cube:
        if col == root_col:
            acc = _spread(tl, acc, n_elem, row, cube_h, root_row, "S", "N")
        acc = _spread(tl, acc, n_elem, col, cube_w, root_col, "E", "W")
    tl.store(pe_addr, acc)


kernel = my_allreduce
