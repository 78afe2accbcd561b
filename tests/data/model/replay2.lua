-- tests/data/golden/replay2.prv: 2 processes, one message of 1000 bytes, one allreduce.
return {
  title = "one message",
  processes = "P",
  network = {latency = "T", bandwidth = "B"},
  parameters = {
    {name = "P", unit = "1", default = 2, run = "processes"},
    {name = "work", unit = "s", fit = true, about = "of both processes together"},
    {name = "T", unit = "s", default = 1e-6, machine = "network.latency"},
    {name = "B", unit = "B/s", default = 1e9, machine = "network.bandwidth"},
  },
  terms = {
    {name = "computation", regions = "useful",
     time = function(p) return compute{seconds = p.work / p.P} end},
    {name = "message", regions = {"MPI_Send", "MPI_Recv"},
     time = function(p) return message{bytes = 1000} / 2 end},
    {name = "sum", regions = "MPI_Allreduce", time = function(p) return allreduce{bytes = 8} end},
    {name = "elsewhere", regions = "no such region", time = function(p) return 0 end},
  },
}
