import assert from "node:assert/strict";
import { test } from "node:test";
import { bearer, fakeServer } from "../testing/fake-server.ts";

test("reads numbers in a query as JSON numbers, and refuses a repeated field", async () => {
  const server = await fakeServer();
  const ask = async (query: string): Promise<string> => {
    const headers = { authorization: bearer() };
    const answer = await server.ask({ method: "GET", url: `/v1/files?${query}`, headers });
    if (answer.statusCode === 200) return "taken";
    const { detail } = answer.json<{ detail: readonly { loc: readonly string[]; msg: string }[] }>();
    return detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
  };
  for (const query of ["limit=100", "limit=1e2", "limit=2.0", "purpose=1e2", "unknown=1&unknown=2"])
    assert.equal(await ask(query), "taken", query);
  assert.equal(
    await ask("limit=1.5"),
    "query.limit: Input should be a valid integer, got a number with a fractional part: 1.5",
  );
  assert.match(await ask("limit=0x10"), /unable to parse string as an integer|valid integer/);
  assert.equal(
    await ask("limit=1&limit=2&order=asc&order=desc&order=asc"),
    "query.limit: limit occurs 2 times in the query; give it once.; query.order: order occurs 3 times in the query; give it once.",
  );
  await server.close();
});
