lull metrics "$DATA/golden/mpi2.prv" --format json >study.json 2>told
