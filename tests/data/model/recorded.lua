-- Times from a run: MPI_Recv is entered once, by the second of two processes, for 230 us.
return {
  title = "recorded",
  processes = "P",
  parameters = {{name = "P", unit = "1", default = 2}, {name = "n", unit = "1", default = 2}},
  terms = {
    {name = "visit", time = function(p)
      return compute{region = "MPI_Recv", run = "../golden/replay2.prv", count = p.n}
    end},
    {name = "mean", time = function(p)
      return compute{region = "MPI_Recv", run = "../golden/replay2.prv", per = "run"}
    end},
    {name = "longest", time = function(p)
      return compute{region = "MPI_Recv", run = "../golden/replay2.prv", per = "run", of = "longest"}
    end},
  },
}
