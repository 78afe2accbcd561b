# What is built and run under the thread sanitizer: groups in which lull or the recorder has more than one
# thread (LULL_THREADS=4). Sets `groups_with_threads`; `programs_with_threads`: those that need no room above
# replay, which `make check` builds (target `threads`); and `seldom_with_threads`: groups of them that take long,
# and whose threads others of the list start, too. What is in such a program and not seldom has the label
# `threads` and runs in `make check`; all other has the label `all`.
set(programs_with_threads "unit\\.(base|binary|metrics|record|replay|sim|team|timeline|trace|wait)(\\..*)?|property")
set(with_threads
    "base/test_parallel"
    "binary/test_places"
    "metrics/test_(breakdown|code)"
    "metrics/test_windows"
    "record/.*"
    "replay/test_(collective_costs|cuts|eager_limit|ideal_brief|ideal_crew|ideal_lead|intercomm|letters|requests)"
    "replay/test_(sim_tape|survey|synchronous|threads|threads_what_if|warp_knots)"
    "sim/test_(engine|order|streams)"
    "study/test_.*"
    "team/test_team"
    "timeline/test_timeline"
    "trace/test_(abreast|cursor|kineto|otf2_read|pack|paraver_source|relay|scan|tape|tape_live|tape_together)"
    "wait/test_.*"
    "property/test_(breakdown|bursts|code|ideal|ideal_shares|merge|otf2|paraver|sim_order|sim_parts|steps|tape|timeline|waits)"
    "property/test_what_if_random"
    "conformance/test_(published|replay|report|waits)")
list(JOIN with_threads "|" pattern)
set(groups_with_threads ${test_sources})
list(FILTER groups_with_threads INCLUDE REGEX "/(${pattern})\\.c$")
set(seldom_with_threads "unit\\.team\\.test_team|test_(what_if_random|letters|ideal_shares|cursor|paraver_source|otf2_read|sim_order)|property\\.test_waits")
