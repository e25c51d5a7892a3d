// Tests that the documentation page about the client lists exactly the existing calls.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { CallGroup } from "../../src/apps/client/calls/call-group.ts";
import { Hone } from "../../src/apps/client/hone.ts";

test("docs/reference/client.md lists every call of every group", () => {
  const page = readFileSync("docs/reference/client.md", "utf8");
  for (const [name, group] of Object.entries(new Hone({ apiKey: null }))) {
    if (!(group instanceof CallGroup)) continue;
    const row = page.split("\n").find((line) => line.startsWith("|") && line.includes(`\`hone.${name}\``));
    assert.ok(row !== undefined, `docs/reference/client.md has no row for hone.${name}`);
    const words = [...row.matchAll(/`(\w+)`/g)].map(([, word = ""]) => word);
    for (const call of callsOf(group))
      assert.ok(words.includes(call), `the row of hone.${name} does not name ${call}`);
    // A row about several groups may name calls that only some of the groups have.
    const isShared = [...row.matchAll(/`hone\.\w+`/g)].length > 1;
    const unknown = isShared ? [] : words.filter((word) => !callsOf(group).includes(word));
    assert.deepEqual(unknown, [], `the row of hone.${name} names what is no call of it`);
  }
});

/** Returns the names of the group's methods, and of its calls that are generated from routes. */
function callsOf(group: CallGroup): readonly string[] {
  const names = new Set(
    Object.entries(group).flatMap(([name, call]) => (typeof call === "function" ? name : [])),
  );
  for (
    let type: unknown = Object.getPrototypeOf(group);
    type instanceof CallGroup;
    type = Object.getPrototypeOf(type)
  )
    for (const name of Object.getOwnPropertyNames(type)) names.add(name);
  return [...names].filter((name) => name !== "constructor");
}
