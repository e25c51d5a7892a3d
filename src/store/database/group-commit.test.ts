// Tests which writes share a transaction, and which error each writer gets.
import assert from "node:assert/strict";
import { test } from "node:test";
import { GroupCommit, type Outcome } from "./group-commit.ts";

/**
 * Returns a writer of texts that writes when the test says so. It refuses an empty text, and a text with a question
 * mark breaks its transaction.
 */
function heldWriter() {
  const groups: (readonly string[])[] = [];
  const waiting: (() => void)[] = [];
  const commits = new GroupCommit<string, string>({
    carryOut: async (items) => {
      groups.push(items);
      await new Promise<void>((resolve) => waiting.push(resolve));
      if (items.some((item) => item.includes("?"))) throw new Error("broken");
      return items.map((item): Outcome<string> =>
        item === "" ? { error: new Error("empty") } : { result: item },
      );
    },
    itemsMax: 3,
    lengthMax: 10,
    lengthOf: (item) => item.length,
  });
  /** Lets writes finish, one after the other, until no more are added. */
  const endAll = async (): Promise<void> => {
    for (let idle = 0; idle < 10; idle++) {
      await Promise.resolve();
      if (waiting.length > 0) idle = 0;
      waiting.shift()?.();
    }
  };
  return { groups, commits, endAll };
}

test("groups writes that arrive during another write, in order, without waiting for more", async () => {
  const { groups, commits, endAll } = heldWriter();
  const first = commits.add("a");
  await Promise.resolve();
  assert.deepEqual(groups, [["a"]]);
  const rest = ["b", "c", "d", "e"].map((item) => commits.add(item));
  await endAll();
  assert.deepEqual(await Promise.all([first, ...rest]), ["a", "b", "c", "d", "e"]);
  assert.deepEqual(groups, [["a"], ["b", "c", "d"], ["e"]]);
});

test("closes a group at its length limit, and writes a longer item separately", async () => {
  const { groups, commits, endAll } = heldWriter();
  const added = Promise.all(
    ["x".repeat(6), "y".repeat(6), "z".repeat(20), "w"].map((item) => commits.add(item)),
  );
  await endAll();
  await added;
  assert.deepEqual(
    groups.map((group) => group.map((item) => item.length)),
    [[6, 6], [20], [1]],
  );
});

test("isolates an item that is refused or that breaks the transaction", async () => {
  const { groups, commits, endAll } = heldWriter();
  const settled = Promise.allSettled(["a", "", "b", "c", "?", "d"].map((item) => commits.add(item)));
  await endAll();
  assert.deepEqual(
    (await settled).map((outcome) =>
      outcome.status === "fulfilled" ? outcome.value : String(outcome.reason),
    ),
    ["a", "Error: empty", "b", "c", "Error: broken", "d"],
  );
  assert.deepEqual(groups, [["a", "", "b"], ["c", "?", "d"], ["c"], ["?"], ["d"]]);
  const later = commits.add("e");
  await endAll();
  assert.equal(await later, "e");
});
