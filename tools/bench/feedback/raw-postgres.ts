// Measures how fast PostgreSQL writes the rows that Hone wrote, without HTTP or validation. Reads the rows from a
// server's database, and writes them over one connection to a new table in it with the same columns and indexes. As in
// the server, a batch is one statement with one parameter.
import { Client } from "pg";
import type { RawRates } from "./raw-inserts.ts";

const perTransaction = 1000;
const insert = "insert into raw_feedback select * from json_populate_recordset(null::raw_feedback, $1::json)";

/**
 * @param url URL of the server's database; nothing may write to it meanwhile
 * @param counts number of rows to write in each mode
 */
export async function rawPostgresRates(
  url: string,
  counts: { readonly batched: number; readonly single: number },
): Promise<RawRates> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query("set synchronous_commit = on");
    await client.query("create table raw_feedback (like feedback including all)");
    const { rows } = await client.query<{ readonly text: string }>(
      "select row_to_json(feedback)::text as text from feedback limit $1",
      [counts.batched + counts.single],
    );
    const texts = rows.map(({ text }) => text);
    return {
      batched: await rateOf(texts.slice(0, counts.batched), perTransaction, client),
      single: await rateOf(texts.slice(counts.batched), 1, client),
    };
  } finally {
    await client.end();
  }
}

async function rateOf(rows: readonly string[], size: number, client: Client): Promise<number> {
  const start = performance.now();
  for (let first = 0; first < rows.length; first += size)
    await client.query({
      name: "raw",
      text: insert,
      values: [`[${rows.slice(first, first + size).join(",")}]`],
    });
  return (1000 * rows.length) / (performance.now() - start);
}
