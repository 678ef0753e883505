"""The block of each device of a ring, at all of them: blocks go round, one step at a time. Each device is one cube."""

from published import kernel_args  # noqa: F401

TOPO_NAME_TO_KIND = {"ring_1d": 0}


def kernel(t_ptr, n_elem, cube_w, cube_h, n_sips, sip_rank, sip_topo_kind, sip_topo_w, sip_topo_h, *, tl):
    if sip_topo_kind != 0 or cube_w * cube_h != 1:
        raise ValueError("only for rings of devices of one cube")
    passing = None
    for step in range(n_sips):
        block = (sip_rank - step) % n_sips
        start, end = block * n_elem // n_sips, (block + 1) * n_elem // n_sips
        if start == end:
            continue  # Neither end sends what has no numbers.
        address, shape = t_ptr + start * 2, (end - start,)
        if step == 0:
            passing = tl.load(address, shape=shape, dtype="f16")
        else:
            passing = tl.recv(dir="global_W", shape=shape, dtype="f16")
            tl.store(address, passing)
        if step < n_sips - 1:
            tl.send(dir="global_E", src=passing)
