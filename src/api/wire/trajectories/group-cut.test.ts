// Tests that cut a stored group into pieces at every offset. They compare the items found with those that JSON.parse
// finds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cutGroup, groupStart, isComplete, type Bytes, type GroupItem } from "./group-cut.ts";

interface Found {
  readonly trajectories: readonly unknown[];
  readonly members: object;
  readonly isComplete: boolean;
}

/**
 * Returns the items found in a text that arrives in pieces of this many bytes. An item whose content was not kept is
 * null.
 */
function found(text: string, pieceBytes: number, kept = Infinity): Found {
  const bytes: Bytes = new TextEncoder().encode(text);
  const items: GroupItem[] = [];
  const options = {
    keptBytes: { trajectories: kept, members: kept },
    onItem: (item: GroupItem) => void items.push(item),
  };
  // The first piece must have at least the first 17 bytes of a group.
  let end = Math.max(17, pieceBytes);
  let cut = cutGroup(groupStart, bytes.slice(0, end), options);
  for (; end < bytes.length; end += pieceBytes)
    cut = cutGroup(cut, bytes.slice(end, end + pieceBytes), options);
  const textsOf = (section: GroupItem["section"]): readonly (string | null)[] =>
    items
      .filter((item) => item.section === section)
      .map(({ pieces, byteCount }) => {
        const joined = pieces === null ? null : Buffer.concat(pieces);
        assert.equal(joined?.length ?? byteCount, byteCount);
        return joined === null ? null : joined.toString();
      });
  return {
    trajectories: textsOf("trajectories").map((item) =>
      item === null ? null : (JSON.parse(item) as unknown),
    ),
    members: JSON.parse(`{${textsOf("members").join()}}`) as object,
    isComplete: isComplete(cut),
  };
}

const group = {
  trajectories: [
    { messagesAndChoices: [{ role: "user", content: 'a "quoted" \\ text, with ]}{[ and é 😀' }], reward: 1 },
    { messagesAndChoices: [], metadata: { "\\": '"', "]": "}", "": [[{}], []] } },
    {},
  ],
  exceptions: [{ type: 'E",' }],
  metadata: { trajectories: ["]", "\\\\"], metadata: 1 },
  metrics: { a: -1.5e-7 },
  logs: ["\\", 1, null],
  extra: {},
};

test("finds the trajectories and other members of a group that is cut at any offset", () => {
  const { trajectories, ...members } = group;
  const text = `${JSON.stringify(group)}\n`;
  for (let pieceBytes = 1; pieceBytes <= text.length; pieceBytes++)
    assert.deepEqual(
      found(text, pieceBytes),
      { trajectories, members, isComplete: true },
      String(pieceBytes),
    );
});

test("handles a group without trajectories, and reports that a group is incomplete", () => {
  const empty = { trajectories: [], metadata: {} };
  assert.deepEqual(found(JSON.stringify(empty), 3), {
    trajectories: [],
    members: { metadata: {} },
    isComplete: true,
  });
  const begun = JSON.stringify(group).slice(0, -1);
  assert.equal(found(begun, 7).isComplete, false);
});

test("omits the content of items that exceed the byte limit", () => {
  const { trajectories } = found(JSON.stringify({ trajectories: [{ a: "x".repeat(50) }, {}] }), 9, 20);
  assert.deepEqual(trajectories, [null, {}]);
});

test("reports where the members after the trajectories begin, cut at any offset", () => {
  const text = JSON.stringify(group);
  const bytes: Bytes = new TextEncoder().encode(text);
  for (let end = 17; end <= bytes.length; end++) {
    const places: number[] = [];
    let start = 0;
    const options = {
      keptBytes: { trajectories: 0, members: 0 },
      onItem: () => undefined,
      onMembers: (at: number) => void places.push(start + at),
    };
    const cut = cutGroup(groupStart, bytes.slice(0, end), options);
    start = end;
    cutGroup(cut, bytes.slice(end), options);
    assert.equal(places.length, 1);
    const { trajectories, ...members } = group;
    const rest = new TextDecoder().decode(bytes.slice(places[0]));
    assert.deepEqual(JSON.parse(`{"trajectories":0${rest}`), { trajectories: 0, ...members });
    assert.equal(trajectories.length, 3);
  }
});
