#!/usr/bin/env python3
"""Writes the traces of tests/data/kineto anew: two ranks of a made-up training, of which every number is in this file.

usage: make.py FOLDER

Each rank does three steps of 1000 us from 100 us on, in which the host needs 100 us to prepare data, copies 4 MB to the device (40 us),
launches two kernels of 200 us each, from another thread a kernel of 100 us, on its own stream an exchange of 8 MB by NCCL, and waits for the device. Rank 1
prepares its data for 300 us, so that the exchange of rank 0 begins 200 us earlier, and takes 200 us longer."""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import kineto  # noqa: E402

US = 1000
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def rank_of(rank):
    maker = kineto.Maker(rank, 2, pid=4242)
    prepare = (300 if rank == 1 else 100) * US
    backward = 4300
    for step in range(3):
        begin = (100 + 1000 * step) * US
        at = begin + prepare
        maker.code(f"ProfilerStep#{step}", begin, begin + 990 * US, category="user_annotation")
        maker.code("data.py(12): load", begin + 1, at, category="python_function")
        maker.code("aten::copy_", at, at + 20 * US)
        copy = maker.call("cudaMemcpyAsync", at + 2 * US, at + 12 * US)
        maker.ran("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 10 * US, at + 50 * US, copy, bytes=4000000)
        maker.code("aten::linear", at + 30 * US, at + 60 * US)
        maker.code("aten::addmm", at + 35 * US + 1, at + 55 * US + 7)
        first = maker.call("cudaLaunchKernel", at + 36 * US, at + 42 * US)
        second = maker.call("cudaLaunchKernel", at + 45 * US, at + 50 * US)
        maker.ran("kernel", "void gemm<float, 128>(float const*, float*)", at + 52 * US, at + 252 * US, first)
        maker.ran("kernel", "void gemm<float, 128>(float const*, float*)", at + 252 * US, at + 452 * US + 3, second)
        maker.code("AddmmBackward0", at + 70 * US, at + 90 * US, backward)
        third = maker.call("cudaLaunchKernel", at + 75 * US, at + 80 * US, backward)
        maker.ran("kernel", "void relu_backward(float*)", at + 460 * US, at + 560 * US, third)
        exchange = maker.call("cudaLaunchKernelExC", at + 82 * US, at + 88 * US, backward)
        late = begin + 300 * US + 570 * US  # when rank 1 has its part
        maker.ran("kernel", NCCL, at + 565 * US, late + 50 * US, exchange, stream=20,
                  **{"Collective name": "allreduce", "In msg nelems": 2000000, "Out msg nelems": 2000000, "Group size": 2,
                     "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"})
        maker.call("cudaDeviceSynchronize", at + 100 * US, late + 55 * US)
    maker.names(maker.pid, maker.pid, "thread 4242 (python3)")
    maker.names(maker.pid, backward, "thread 4300 (pt_autograd_0)")
    maker.names(0, 7, "stream 7 ")
    maker.names(0, 20, "stream 20 ")
    return maker.document()


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1]) / "two-ranks"
    folder.mkdir(parents=True, exist_ok=True)
    kineto.write(folder / "node1_4242.1727743122.pt.trace.json", rank_of(0))
    kineto.write(folder / "node2_4242.1727743122.pt.trace.json.gz", rank_of(1))
