// What programs in JavaScript read in the tables of a folder, for readers.py: apache-arrow (Arrow's own), polars, DuckDB.
//
//     node readers.js PROGRAM FOLDER TABLE...
//
// Prints a line of JSON for each table: {"table", "columns": {name: [values]}} with whole numbers as texts, and at the end
// {"sums": {activity: ns}} of the table of steps, by the program itself. Status 77: the module is not there.
'use strict';
const {readFileSync} = require('fs');
const path = require('path');

function load(name) {
    try {
        return require(name);
    } catch (missing) {
        console.log(missing.message.split('\n')[0]);
        process.exit(77);
    }
}

const plain = value => (typeof value === 'bigint' || typeof value === 'number' ? String(value) : value ?? null);

const programs = {
    arrow() {
        const arrow = load('apache-arrow');
        const read = file => arrow.tableFromIPC(readFileSync(file));
        return {
            columns: file => {
                const table = read(file);
                return table.schema.fields.map((field, i) => [field.name, [...table.getChildAt(i)]]);
            },
            sums: file => {
                const sums = new Map();
                for (const step of read(file))
                    sums.set(step.activity, (sums.get(step.activity) ?? 0n) + step.end - step.begin);
                return [...sums];
            },
        };
    },
    polars() {
        const polars = load('nodejs-polars');
        return {
            columns: file => {
                const table = polars.readIPC(readFileSync(file));
                return table.columns.map(name => [name, table.getColumn(name).toArray()]);
            },
            sums: file => {
                const steps = polars.readIPC(readFileSync(file));
                const spans = polars.DataFrame({activity: steps.getColumn('activity').cast(polars.Utf8),
                                                ns: steps.getColumn('end').minus(steps.getColumn('begin'))});
                return spans.groupBy('activity').agg(polars.col('ns').sum()).rows();
            },
        };
    },
    duckdb() {
        const arrow = load('apache-arrow');
        const duckdb = load('@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs');
        const folder = path.dirname(require.resolve('@duckdb/duckdb-wasm/dist/duckdb-node-blocking.cjs'));
        const bundles = {mvp: {mainModule: path.join(folder, 'duckdb-mvp.wasm')}, eh: {mainModule: path.join(folder, 'duckdb-eh.wasm')}};
        const started = duckdb.createDuckDB(bundles, new duckdb.VoidLogger(), duckdb.NODE_RUNTIME);
        return started.then(async database => {
            await database.instantiate(() => {});
            const connection = database.connect();
            // False: without a batch there is nothing to import.
            const import_table = (name, table) => {
                connection.query(`DROP TABLE IF EXISTS ${name}`);
                if (table.numRows > 0)
                    connection.insertArrowFromIPCStream(arrow.tableToIPC(table, 'stream'), {name, create: true});
                return table.numRows > 0;
            };
            return {
                columns: file => {
                    const table = arrow.tableFromIPC(readFileSync(file));
                    const found = import_table('t', table) ? connection.query('SELECT * FROM t') : table;
                    return found.schema.fields.map((field, i) => [field.name, [...found.getChildAt(i)]]);
                },
                sums: file => {
                    import_table('t', arrow.tableFromIPC(readFileSync(file)));
                    return connection
                        .query('SELECT activity::VARCHAR a, sum("end" - "begin")::BIGINT s FROM t GROUP BY 1')
                        .toArray().map(row => [row.a, row.s]);
                },
            };
        });
    },
};

async function main([program, folder, ...tables]) {
    const reader = await programs[program]();
    for (const table of tables) {
        const columns = {};
        for (const [name, values] of reader.columns(path.join(folder, table + '.arrow')))
            columns[name] = values.map(plain);
        console.log(JSON.stringify({table, columns}));
    }
    console.log(JSON.stringify({sums: Object.fromEntries(
        reader.sums(path.join(folder, 'steps.arrow')).map(([activity, ns]) => [activity, String(ns)]))}));
}

main(process.argv.slice(2)).catch(error => {
    console.error(error);
    process.exit(1);
});
