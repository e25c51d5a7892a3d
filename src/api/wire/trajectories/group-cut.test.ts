// Groups cut at every offset, compared with JSON.parse.
import assert from "node:assert/strict";
import { test } from "node:test";
import { cutGroup, groupStart, isComplete, type Bytes, type GroupItem } from "./group-cut.ts";

interface Found {
  readonly trajectories: readonly unknown[];
  readonly members: object;
  readonly isComplete: boolean;
}

/** Cuts the text into pieces of this many bytes; items that are not kept are null. */
function found(text: string, pieceBytes: number, kept = Infinity): Found {
  const bytes: Bytes = new TextEncoder().encode(text);
  const items: GroupItem[] = [];
  const options = {
    keptBytes: { trajectories: kept, members: kept },
    onItem: (item: GroupItem) => void items.push(item),
  };
  // The group's first bytes are in one piece.
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

test("finds a group's trajectories and members, cut at any offset", () => {
  const { trajectories, ...members } = group;
  const text = `${JSON.stringify(group)}\n`;
  for (let pieceBytes = 1; pieceBytes <= text.length; pieceBytes++)
    assert.deepEqual(
      found(text, pieceBytes),
      { trajectories, members, isComplete: true },
      String(pieceBytes),
    );
});

test("handles a group without trajectories, and an incomplete group", () => {
  const empty = { trajectories: [], metadata: {} };
  assert.deepEqual(found(JSON.stringify(empty), 3), {
    trajectories: [],
    members: { metadata: {} },
    isComplete: true,
  });
  const begun = JSON.stringify(group).slice(0, -1);
  assert.equal(found(begun, 7).isComplete, false);
});

test("reports items above the kept bytes without their content", () => {
  const { trajectories } = found(JSON.stringify({ trajectories: [{ a: "x".repeat(50) }, {}] }), 9, 20);
  assert.deepEqual(trajectories, [null, {}]);
});

test("reports where the members begin, cut at any offset", () => {
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
