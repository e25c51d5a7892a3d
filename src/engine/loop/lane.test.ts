import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../domain/random.ts";
import { KvLane } from "../cache/kv-lane.ts";
import { Lane, noSlot, type SlotHolder } from "./lane.ts";
import { fakeShape } from "../testing/fake-runner.ts";

interface Marked extends SlotHolder {
  mark: number;
}

const setUp = (): Lane<Marked, Marked> => {
  const kv = new KvLane(fakeShape);
  kv.reshape(64, 64);
  return new Lane<Marked, Marked>("", null, kv);
};

const write = (lane: Lane<Marked, Marked>, { slot, mark }: Marked): void => {
  for (let layer = 0; layer < fakeShape.layerCount; layer++) {
    const keys = new Float32Array(fakeShape.kvHeadCount * fakeShape.headSize).fill(mark);
    lane.kv.write(layer, slot, 0, 1, { keys, values: keys, positionCount: 1 });
  }
  lane.kv.advance(slot, 1);
};

/** Rows first, prompts after them, every slot with what its holder wrote. */
const check = (lane: Lane<Marked, Marked>, context: string): void => {
  const holders = [...lane.rows, ...lane.prompts];
  assert.equal(lane.kv.usedCount, holders.length, context);
  assert.deepEqual(
    holders.map((holder) => holder.slot),
    holders.map((_, index) => index),
    context,
  );
  for (const { slot, mark } of holders) {
    assert.equal(lane.kv.keys(1, slot, 1)[0], mark, context);
    assert.equal(lane.kv.lengths[slot], 1, context);
  }
};

test("holders keep what they wrote through any order of coming, growing up and leaving", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = seededRandom("lane", seed);
    const lane = setUp();
    for (let step = 1; step <= 80; step++) {
      const action = random.index(5);
      if (action === 0 && lane.kv.usedCount < 40) {
        const prompt = { slot: noSlot, mark: step };
        lane.addPrompt(prompt);
        write(lane, prompt);
      } else if (action === 1 && lane.prompts.length > 0) {
        const prompt = lane.prompts[random.index(lane.prompts.length)];
        lane.promote(prompt, { slot: noSlot, mark: prompt.mark });
        assert.equal(prompt.slot, noSlot);
      } else if (action === 2 && lane.rows.length > 0 && lane.kv.usedCount < 40) {
        const original = lane.rows[random.index(lane.rows.length)];
        lane.addCopy(original, { slot: noSlot, mark: original.mark });
      } else if (action === 3 && lane.rows.length > 0) {
        lane.removeRow(lane.rows[random.index(lane.rows.length)]);
      } else if (action === 4 && lane.prompts.length > 0) {
        lane.removePrompt(lane.prompts[random.index(lane.prompts.length)]);
      }
      check(lane, `seed ${seed}, step ${step}`);
    }
  }
});
