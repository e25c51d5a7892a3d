// Measures how fast Hone writes and reads feedback over HTTP, and how much this delays other requests. The server runs
// in a separate process on the same machine as the clients. For comparison, the benchmark writes the same rows directly
// to the same kind of database.
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createPostgres } from "../../src/store/database/testing/postgres-databases.ts";
import { FeedbackBodies, callCount, referenceOf } from "./feedback/feedback-bodies.ts";
import { headOf, KeepAliveConnection } from "./feedback/keep-alive.ts";
import { OtherRequests, quantile, type Waits } from "./feedback/other-requests.ts";
import { rawPostgresRates } from "./feedback/raw-postgres.ts";
import { rawInsertRates, type RawRates } from "./feedback/raw-inserts.ts";
import { MemorySamples, type MemoryGrowth } from "./feedback/memory-samples.ts";
import { ownFolder } from "./run-bench.ts";
import { type LocalBuild, serveBuild } from "./served-build.ts";

const help = `Usage: node dist/tools/bench/store.js [flags]
Writes feedback to a server on the loopback address: batches of 1000 records over a few keep-alive connections, then single
records over many. Each record has an id and is on disk when the server answers. Meanwhile requests /health and /v1/models, and
prints their latency and the growth of the server's memory. Then requests pages of 100 records by reference and by a number in
the payload. At the end, the database alone writes the same rows to the same table. Rates are records per second. Clients, server
and database share the machine's processors.

  --records <count>  number of records written in batches (default 200000)
  --singles <count>  number of records written one by one (default 20000)
  --batch <count>    records per batch (default 1000)
  --pages <count>    number of pages of each kind, or as many as are answered within 20 s (default 200)
  --postgres <url>   PostgreSQL server on which a temporary database is created (default: a SQLite file)
  --flag <flag>      flag for the server, such as --flag=--log-level=info; can be repeated
  --json             print JSON
  --help             print this help`;

interface Options {
  readonly records: number;
  readonly singles: number;
  readonly batch: number;
  readonly pages: number;
  readonly flags: readonly string[];
  readonly postgres: string | undefined;
}

interface Written {
  readonly name: string;
  readonly records: number;
  readonly recordsPerSecond: number;
  /** Median latency of a write request in milliseconds. */
  readonly medianMs: number;
  readonly p99Ms: number;
  /** Processor time of the server per record, in microseconds. */
  readonly cpuMicroseconds: number | null;
  /** Latencies of other requests while clients write feedback. */
  readonly others: readonly Waits[];
}

interface PageTimes {
  readonly name: string;
  readonly count: number;
  readonly medianMs: number;
  readonly p95Ms: number;
}

interface StoreReport {
  readonly processor: string;
  /** Load average of the minute before the benchmark. */
  readonly loadAverage: number;
  readonly written: readonly Written[];
  readonly memory: MemoryGrowth | null;
  readonly pages: readonly PageTimes[];
  readonly database: "SQLite" | "PostgreSQL";
  readonly raw: RawRates;
}

/** Time limit for each kind of page query, in milliseconds. */
const pagesMsMax = 20_000;
const batchConnections = 3;
const singleConnections = 64;
const authorizationOf = ({ apiKey }: LocalBuild): string =>
  `Basic ${Buffer.from(`api:${apiKey}`).toString("base64")}`;

const { values } = parseArgs({
  options: {
    records: { type: "string", default: "200000" },
    singles: { type: "string", default: "20000" },
    batch: { type: "string", default: "1000" },
    pages: { type: "string", default: "200" },
    postgres: { type: "string" },
    flag: { type: "string", multiple: true, default: [] },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) process.stdout.write(`${help}\n`);
else {
  const report = await measure({
    records: Number(values.records),
    singles: Number(values.singles),
    batch: Number(values.batch),
    pages: Number(values.pages),
    flags: values.flag,
    postgres: values.postgres,
  });
  process.stdout.write(values.json ? `${JSON.stringify(report, null, 2)}\n` : textOf(report));
}

async function measure({ postgres, ...options }: Options): Promise<StoreReport> {
  if (postgres === undefined) return measureOn(null, options);
  const database = await createPostgres(postgres);
  try {
    return await measureOn(database.url, options);
  } finally {
    await database.drop();
  }
}

/** @param databaseUrl URL of an empty PostgreSQL database; null to use a SQLite file */
async function measureOn(
  databaseUrl: string | null,
  { records, singles, batch, pages, flags: ownFlags }: Omit<Options, "postgres">,
): Promise<StoreReport> {
  const flags = databaseUrl === null ? ownFlags : ["--database-url", databaseUrl, ...ownFlags];
  const processor = cpus()[0]?.model ?? "an unknown processor";
  const [loadAverage = NaN] = loadavg();
  const server = await serveBuild(ownFolder, { modelFolder: "models/hone-tiny", threads: 1, flags });
  try {
    const memory = new MemorySamples(server.processId);
    const inBatches = await write(server, {
      name: `in batches of ${batch}`,
      path: "/feedback/batch/create",
      bodies: new FeedbackBodies(batch, 0),
      connections: batchConnections,
      records,
    });
    const growth = memory.end();
    const oneByOne = await write(server, {
      name: "one by one",
      path: "/feedback/create",
      bodies: new FeedbackBodies(0, records),
      connections: singleConnections,
      records: singles,
    });
    const rawCounts = {
      batched: Math.min(records, 200_000),
      single: Math.min(records + singles - Math.min(records, 200_000), 5000),
    };
    return {
      processor,
      loadAverage,
      written: [inBatches, oneByOne],
      memory: growth,
      pages: [
        await askPages(server, "by reference", pages, pageByReference),
        await askPages(server, "by a number in the payload", pages, pageByNumber),
      ],
      database: databaseUrl === null ? "SQLite" : "PostgreSQL",
      raw:
        databaseUrl === null
          ? rawInsertRates(join(server.dataFolder, "hone.db"), rawCounts)
          : await rawPostgresRates(databaseUrl, rawCounts),
    };
  } finally {
    await server.stop();
  }
}

interface Load {
  readonly name: string;
  readonly path: string;
  readonly bodies: FeedbackBodies;
  readonly connections: number;
  readonly records: number;
}

async function write(server: LocalBuild, load: Load): Promise<Written> {
  const { name, path, bodies, connections, records } = load;
  const authorization = authorizationOf(server);
  const others = new OtherRequests({ url: server.url, authorization: `Bearer ${server.apiKey}` });
  const cpuBefore = server.cpuSeconds();
  const times: number[] = [];
  let sent = 0;
  const writeOn = async (): Promise<void> => {
    const connection = new KeepAliveConnection(server.url);
    while (sent < records) {
      sent += bodies.recordsPerBody;
      const body = bodies.next();
      const start = performance.now();
      const answer = await connection.ask(
        headOf({ method: "POST", path, authorization, bodyBytes: body.length }),
        body,
      );
      times.push(performance.now() - start);
      if (answer.status !== 200)
        throw new Error(`${path} was answered with ${answer.status}: ${answer.body}`);
    }
    connection.close();
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, writeOn));
  const seconds = (performance.now() - start) / 1000;
  const cpuAfter = server.cpuSeconds();
  const cpuSeconds = cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore;
  return {
    name,
    records: sent,
    recordsPerSecond: sent / seconds,
    medianMs: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    cpuMicroseconds: cpuSeconds && (1e6 * cpuSeconds) / sent,
    others: await others.end(),
  };
}

type Query = Readonly<Record<string, unknown>>;

/** Returns a page query that finds one call. Each index finds a different call. */
function pageByReference(index: number): Query {
  const field = { $getField: "weave_ref" };
  return {
    query: { $expr: { $eq: [field, { $literal: referenceOf((index * 97) % callCount) }] } },
    sort_by: [{ field: "created_at", direction: "asc" }],
  };
}

/**
 * Returns a page query with a minimum score, different for each index. It matches between 0.5 % and 10 % of all
 * records.
 */
function pageByNumber(index: number): Query {
  const score = { $convert: { input: { $getField: "payload.score" }, to: "double" } };
  const bound = 0.9 + 0.095 * (((index * 37) % 100) / 100);
  return {
    query: { $expr: { $gt: [score, { $literal: bound }] } },
    sort_by: [{ field: "created_at", direction: "desc" }],
  };
}

async function askPages(
  server: LocalBuild,
  name: string,
  count: number,
  queryOf: (index: number) => Query,
): Promise<PageTimes> {
  const path = "/feedback/query";
  const connection = new KeepAliveConnection(server.url);
  const times: number[] = [];
  const endMs = performance.now() + pagesMsMax;
  for (let index = 0; index < count && performance.now() < endMs; index++) {
    const body = Buffer.from(JSON.stringify({ project_id: "local/bench", limit: 100, ...queryOf(index) }));
    const head = headOf({
      method: "POST",
      path,
      authorization: authorizationOf(server),
      bodyBytes: body.length,
    });
    const start = performance.now();
    const answer = await connection.ask(head, body);
    times.push(performance.now() - start);
    if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}: ${answer.body}`);
  }
  connection.close();
  return { name, count: times.length, medianMs: quantile(times, 0.5), p95Ms: quantile(times, 0.95) };
}

function textOf({ processor, loadAverage, written, memory, pages, database, raw }: StoreReport): string {
  const rawOf = [raw.batched, raw.single];
  const lines = [`${processor}, load average ${loadAverage.toFixed(1)} before the run`];
  for (const [
    index,
    { name, recordsPerSecond, medianMs, p99Ms, cpuMicroseconds, others },
  ] of written.entries()) {
    const ratio = (recordsPerSecond / rawOf[index]).toFixed(2);
    const cpu = cpuMicroseconds === null ? "" : `, server CPU ${cpuMicroseconds.toFixed(1)} µs per record`;
    lines.push(
      `written ${name}: ${recordsPerSecond.toFixed(0)} records/s, ${database} alone ${rawOf[index].toFixed(0)}: ratio ${ratio}`,
      `  latency: median ${medianMs.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)}${cpu}`,
    );
    for (const waits of others)
      lines.push(
        `  meanwhile latency of ${waits.name}: median ${waits.medianMs.toFixed(1)} ms, p99 ${waits.p99Ms.toFixed(1)}, at most ${waits.slowestMs.toFixed(1)} (${waits.count})`,
      );
  }
  if (memory !== null)
    lines.push(
      `memory: ${memory.earlyMebibytes.toFixed(0)} MiB in the second fifth of the batches, ${memory.lateMebibytes.toFixed(0)} in the last, at most ${memory.mostMebibytes.toFixed(0)}`,
    );
  for (const { name, count, medianMs, p95Ms } of pages)
    lines.push(
      `page of 100 records ${name}: median ${medianMs.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} (${count})`,
    );
  return `${lines.join("\n")}\n`;
}
