-- A bulk-synchronous code on nodes whose systems disturb it, as Petrini, Kerbyson and Pakin describe it
-- of ASCI Q ("The Case of the Missing Supercomputer Performance", SC 2003): every step ends with a
-- global operation, which waits for the node that is disturbed most. A detour of a given length that
-- comes once a period hits few steps of one node, but nearly every step of a thousand nodes. Leaving
-- one core of each node to the system makes the computation longer and the detours harmless.
--
-- Period and length are assumptions of the right size, not those of ASCI Q: lull bench measures yours.

local function nodes(p)
  return math.max(1, p.P / p.cores)
end

-- Of a step; fewer cores have more to do each.
local function computation(p)
  local working = p.system == "one core free" and (p.cores - 1) / p.cores or 1
  return p.step / working
end

return {
  title = "bulk-synchronous code with noise",
  processes = "P",
  iterations = "iterations",
  network = {latency = "T_l", bandwidth = "B"},
  work = function(p) return p.P end, -- a step is as long on any number: weak scaling
  parameters = {
    {name = "P", unit = "1", default = 4096, about = "cores"},
    {name = "cores", unit = "1", default = 4, about = "of a node"},
    {name = "system", choices = {"all cores", "one core free"},
     about = "whether the system has a core of each node to itself"},
    {name = "step", unit = "s", default = 1e-3, about = "computation between global operations"},
    {name = "iterations", unit = "1", default = 100, about = "steps"},
    {name = "period", unit = "s", default = 1, about = "from detour to detour on a node"},
    {name = "length", unit = "s", default = 2e-3, about = "of a detour"},
    {name = "T_l", unit = "s", default = 5e-6, machine = "network.latency",
     about = "time of a message without content"},
    {name = "B", unit = "B/s", default = 400e6, machine = "network.bandwidth",
     about = "bandwidth of messages"},
  },
  terms = {
    {name = "computation", time = function(p) return compute{seconds = computation(p)} end},
    {name = "noise", resource = "noise", time = function(p)
      if p.system == "one core free" then return 0 end
      return noise{period = p.period, length = p.length, duration = computation(p),
                   draws = nodes(p)}
    end},
    {name = "global operation", time = function(p)
      return allreduce{bytes = 8, algorithm = "recursive-doubling"}
    end},
  },
}
