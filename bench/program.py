"""How long lull model program takes for a model with ten terms at 100,000 points."""
MODEL = """-- Ten terms: what a solver on a grid may have.
return {
  title = "ten terms",
  processes = "P",
  iterations = "n",
  network = {latency = "T", bandwidth = "B"},
  parameters = {
    {name = "P", unit = "1", default = 64}, {name = "n", unit = "1", default = 100},
    {name = "L", unit = "1", default = 1e5}, {name = "f", unit = "flop/s", default = 1e9},
    {name = "T", unit = "s", default = 2e-6}, {name = "B", unit = "B/s", default = 1e10},
  },
  terms = {
    {name = "smooth", time = function(p) return compute{flops = 12 * p.L ^ 2 / p.P, rate = p.f} end},
    {name = "residual", time = function(p) return compute{bytes = 32 * p.L ^ 2 / p.P, bandwidth = p.B} end},
    {name = "restrict", time = function(p) return compute{flops = 3 * p.L ^ 2 / p.P, rate = p.f} end},
    {name = "threads", time = function(p) return parallel{seconds = p.L / p.P * 1e-9, threads = 4, overhead = 1e-6} end},
    {name = "halo", time = function(p) return halo{grid = {p.P}, bytes = 8 * p.L} end},
    {name = "shift", time = function(p) return message{bytes = 64} end},
    {name = "dot", time = function(p) return allreduce{bytes = 8, count = 2} end},
    {name = "norm", every = 10, time = function(p) return reduce{bytes = 8, algorithm = "mpich"} end},
    {name = "output", every = 100, time = function(p) return tree{kind = "binary", direction = "up", bytes = 800} end},
    {name = "noise", time = function(p) return noise{distribution = "exponential", mean = 1e-6} end},
  },
}
"""
POINTS = 100000


def rows(bench):
    name = "program: 10 terms at 100,000 points"
    if not bench.wanted(name):
        return
    with open(bench.path("ten.lua"), "w") as model:
        model.write(MODEL)
    # One thread: processor time is what a machine without other work would take.
    taken = [a.cpu for a, _ in bench.pairs(
        bench.lull("model", "program", bench.path("ten.lua"), "--sweep", "P=1:%d:+1" % POINTS,
                   "--format", "csv"), None)]
    bench.add(name, "%.2f s (%.2f .. %.2f)" % (sorted(taken)[len(taken) // 2], min(taken),
                                               max(taken)), "<= 1 s")
