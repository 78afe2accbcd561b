"""PyTorch with NCCL on one device, for scripts/device-check: products of matrices, and 10 sums over a world of one rank."""
import os

import torch
import torch.distributed

os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29511")
torch.distributed.init_process_group("nccl", rank=0, world_size=1)
a = torch.ones((1024, 1024), device="cuda")
for _ in range(10):
    b = a @ a
    torch.distributed.all_reduce(b)
torch.cuda.synchronize()
print("sum", float(b.sum()))
torch.distributed.destroy_process_group()
