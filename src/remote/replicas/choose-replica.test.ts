import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../domain/random.ts";
import { requestOf } from "../../engine/testing/run-loop.ts";
import { chooseReplica, hashOf, prefixOf } from "./choose-replica.ts";

const replica = (index: number, runningCount = 0) => ({
  hash: hashOf(`http://replica-${index}:8000`),
  index,
  runningCount,
});
const eight = Array.from({ length: 8 }, (_, index) => replica(index));
const random = seededRandom("replicas", 1);
const prefixes = Array.from({ length: 4000 }, () => random.index(2 ** 32));

test("prompts spread evenly over replicas that have nothing to do, and each stays where it is", () => {
  const counts = eight.map(() => 0);
  for (const prefix of prefixes) {
    const chosen = chooseReplica(eight, prefix).index;
    assert.equal(chooseReplica(eight.toReversed(), prefix).index, chosen);
    counts[chosen] += 1;
  }
  for (const count of counts) assert.ok(Math.abs(count - 500) < 100, `${counts.join(", ")} of 500 each`);
});

test("a replica that goes moves its own prompts alone", () => {
  const seven = eight.filter(({ index }) => index !== 3);
  for (const prefix of prefixes) {
    const before = chooseReplica(eight, prefix).index;
    if (before !== 3) assert.equal(chooseReplica(seven, prefix).index, before);
  }
});

test("one that has much more to do than others gets no more", () => {
  const running = eight.map(({ index }) => replica(index));
  // All of one prompt, none of which ends.
  for (let count = 0; count < 800; count++) {
    const { index } = chooseReplica(running, 7);
    running[index] = replica(index, running[index].runningCount + 1);
  }
  const most = Math.max(...running.map(({ runningCount }) => runningCount));
  assert.ok(most <= 126, `${most} of 100`);
  assert.equal(chooseReplica([replica(1, 1000)], 7).index, 1);
});

test("a conversation stays until it is twice as long; adapters, owners and salts have places of their own", () => {
  const tokens = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
  const at = (count: number, more = {}) => prefixOf(requestOf(tokens(count), more));
  assert.equal(at(64), at(127));
  assert.notEqual(at(127), at(128));
  assert.equal(at(4096), at(9000));
  assert.equal(at(1), at(1));
  const others = [
    at(64),
    at(64, { cacheOwner: "other" }),
    at(64, { cacheSalt: "salt" }),
    at(64, { adapter: { id: "m:1", folder: "a" } }),
    at(64, { adapter: { id: "m:2", folder: "a" } }),
  ];
  assert.equal(new Set(others).size, others.length);
});
