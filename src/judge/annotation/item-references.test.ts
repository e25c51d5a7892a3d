import assert from "node:assert/strict";
import { test } from "node:test";
import { draftsOf } from "./item-references.ts";

test("refers to a recorded completion by this server's scheme, for either of its ids", async () => {
  const asked: string[] = [];
  const drafts = await draftsOf(
    "team/games",
    ["chatcmpl-r 1", "r 1", "other", "x:///team/games/call/r 1"],
    async (_, ids) => {
      asked.push(...ids);
      return new Set(["r 1"]);
    },
  );
  assert.deepEqual(asked, ["r 1", "r 1", "other"]);
  assert.deepEqual(
    drafts.map(({ vendorRef }) => vendorRef),
    [
      "hone:///team/games/call/r%201",
      "hone:///team/games/call/r%201",
      "weave:///team/games/call/other",
      "x:///team/games/call/r 1",
    ],
  );
});
