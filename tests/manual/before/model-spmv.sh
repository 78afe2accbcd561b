# A matrix of the Matrix Market: 60 rows, three nonzeros in most.
cp "$SOURCES/data/haswell-e5-2695v3-cod.json" machine.json
{
    printf '%%%%MatrixMarket matrix coordinate real general\n60 60 178\n'
    for row in $(seq 60); do
        for column in $((row - 1)) $row $((row + 1)); do
            [ $column -lt 1 ] || [ $column -gt 60 ] || echo "$row $column 1.5"
        done
    done
} | gzip >pwtk.mtx.gz
