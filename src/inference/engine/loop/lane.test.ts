import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { KvLane } from "../cache/kv-lane.ts";
import { fakeShape } from "../testing/fake-runner.ts";
import { requestOf, Transcript } from "../testing/run-loop.ts";
import { Lane, slotOf } from "./lane.ts";
import { openRequest, type Sequence } from "./sequence.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";

const setUp = (): Lane => {
  const kv = new KvLane(fakeShape);
  kv.reshape(64, 64);
  return new Lane({ id: "", adapterKey: "" }, null, kv);
};

const sequencesOf = (count: number): readonly Sequence[] =>
  openRequest(requestOf([1], { choiceCount: count }), {
    output: new Transcript(),
    constraint: null,
    processors: [],
    portion: count,
    arrival: 0,
    submittedMs: 0,
  }).running.sequences;

/** Writes keys and values for one position; `mark` identifies the sequence. */
const write = (lane: Lane, sequence: Sequence, mark: number): void => {
  const slot = slotOf(sequence);
  for (const [layer, { kvHeadCount, headSize }] of fakeShape.caches.entries()) {
    const keys = new Float32Array(kvHeadCount * headSize).fill(mark);
    lane.kv.write(layer, slot, { row: 0, start: 0, count: 1 }, { keys, values: keys, positionCount: 1 });
  }
  lane.kv.advance(slot, 1);
  sequence.computedCount = 1;
};

/** Checks that rows precede prompts, and that every slot holds the mark of its sequence. */
const check = (lane: Lane, marks: ReadonlyMap<Sequence, number>, context: string): void => {
  const holders = [...lane.rows, ...lane.prompts];
  assert.equal(lane.kv.usedCount, holders.length, context);
  assert.deepEqual(
    holders.map(({ slot }) => slot),
    holders.map((_, index) => index),
    context,
  );
  for (const sequence of holders) {
    const slot = slotOf(sequence);
    assert.equal(lane.kv.keys(1, slot, 1)[0], marks.get(sequence), context);
    assert.equal(lane.kv.lengths[slot], sequence.computedCount, context);
  }
};

test("sequences keep their contents through any order of adding, promoting and removing", () => {
  for (const seed of searchSeeds(25)) {
    const random = seededRandom("lane", seed);
    const lane = setUp();
    const marks = new Map<Sequence, number>();
    for (let step = 1; step <= 80; step++) {
      const action = random.index(6);
      const [fresh, follower] = sequencesOf(2);
      const prompt = lane.prompts[random.index(lane.prompts.length)];
      const row = lane.rows[random.index(lane.rows.length)];
      if (action === 0 && lane.kv.usedCount < 40) {
        lane.addPrompt(fresh);
        write(lane, fresh, step);
        marks.set(fresh, step);
      } else if (action === 1 && prompt !== undefined) {
        lane.promote(prompt);
      } else if (action === 2 && row !== undefined && lane.kv.usedCount < 40) {
        lane.addCopy(row, follower);
        marks.set(follower, marks.get(row) ?? -1);
      } else if (action === 3 && row !== undefined) {
        lane.removeRow(row);
        assert.equal(row.slot, null);
      } else if (action === 4 && prompt !== undefined) {
        lane.removePrompt(prompt);
        assert.equal(prompt.slot, null);
      } else if (action === 5 && prompt !== undefined) {
        lane.handOver(prompt, follower);
        marks.set(follower, marks.get(prompt) ?? -1);
        assert.equal(prompt.slot, null);
      }
      check(lane, marks, `seed ${seed}, step ${step}`);
    }
  }
});

test("a row that starts from another's answer copies only what they do not share", () => {
  const lane = setUp();
  const [from, to] = sequencesOf(2);
  const answer = (sequence: Sequence, ids: readonly number[]): void => {
    for (const id of ids) {
      write(lane, sequence, id);
      sequence.answerTokenIds.push(id);
    }
    sequence.computedCount = 1 + ids.length;
  };
  const marks = (sequence: Sequence): readonly number[] => {
    const { headSize } = fakeShape.caches[1];
    const keys = lane.kv.keys(1, slotOf(sequence), 1);
    return Array.from({ length: sequence.computedCount }, (_, position) => keys[position * headSize]);
  };
  lane.addPrompt(from);
  write(lane, from, 50);
  lane.promote(from);
  lane.addCopy(from, to);
  answer(from, [5, 6, 7, 8]);
  answer(to, [5, 9]);
  lane.kv.keys(1, slotOf(to), 1)[0] = 99;
  lane.copyRow(from, to);
  assert.deepEqual(
    [marks(from), marks(to)],
    [
      [50, 5, 6, 7, 8],
      [99, 5, 6, 7, 8],
    ],
  );
  assert.deepEqual(to.answerTokenIds, [5, 6, 7, 8]);
  assert.notEqual(to.answerTokenIds, from.answerTokenIds);
});

test("reports its contents including the reservations of its sequences", () => {
  const lane = setUp();
  const [leader] = sequencesOf(3);
  lane.addPrompt(leader);
  assert.deepEqual(lane.load, { laneId: "", slotCount: 3, positionCountMax: 17, decodingCount: 0 });
  leader.followers = [];
  lane.promote(leader);
  assert.deepEqual(lane.load, { laneId: "", slotCount: 1, positionCountMax: 17, decodingCount: 1 });
});
