import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { requestOf } from "../../engine/testing/run-loop.ts";
import { chooseReplica, hashAddress, hashPrefix } from "./choose-replica.ts";
import { RecentRequests } from "./recent-requests.ts";

const replica = (index: number, runningCount = 0) => ({
  hash: hashAddress(`http://replica-${index}:8000`),
  index,
  runningCount,
  recentCount: 0,
});
const eight = Array.from({ length: 8 }, (_, index) => replica(index));
const random = seededRandom("replicas", 1);
const prefixes = Array.from({ length: 4000 }, () => random.index(2 ** 32));

test("spreads prompts evenly over idle replicas, and keeps each on its replica", () => {
  const counts = eight.map(() => 0);
  for (const prefix of prefixes) {
    const chosen = chooseReplica(eight, prefix).index;
    assert.equal(chooseReplica(eight.toReversed(), prefix).index, chosen);
    counts[chosen] += 1;
  }
  for (const count of counts) assert.ok(Math.abs(count - 500) < 100, `${counts.join(", ")} of 500 each`);
});

test("moves only the prompts of a replica that leaves", () => {
  const seven = eight.filter(({ index }) => index !== 3);
  for (const prefix of prefixes) {
    const before = chooseReplica(eight, prefix).index;
    if (before !== 3) assert.equal(chooseReplica(seven, prefix).index, before);
  }
});

test("gives nothing more to a replica with far more load than others", () => {
  const running = eight.map(({ index }) => replica(index));
  // All requests have the same prompt, and none of them ends.
  for (let count = 0; count < 800; count++) {
    const { index } = chooseReplica(running, 7);
    running[index] = replica(index, running[index].runningCount + 1);
  }
  const most = Math.max(...running.map(({ runningCount }) => runningCount));
  assert.ok(most <= 126, `${most} of 100`);
  assert.equal(chooseReplica([replica(1, 1000)], 7).index, 1);
});

test("relieves a replica of some frequent prompts, and keeps the rest", () => {
  const prompts = prefixes.slice(0, 500);
  const fleet = eight.map(({ hash, index }) => ({ hash, index, runningCount: 0, answeredCount: 0 }));
  const recent = new RecentRequests(fleet);
  const running: (typeof fleet)[number][] = [];
  let keptCount = 0;
  const requestCount = 20_000;
  for (let count = 0; count < requestCount; count++) {
    // At most 64 requests run at the same time. To begin another one, a random request ends.
    if (running.length === 64) {
      const [ended] = running.splice(random.index(64), 1);
      ended.runningCount -= 1;
    }
    const prefix = prompts[random.index(prompts.length)];
    const candidates = fleet.map((one) => ({ ...one, recentCount: recent.countOf(one) }));
    const { index } = chooseReplica(candidates, prefix);
    if (index === chooseReplica(eight, prefix).index) keptCount += 1;
    recent.add(fleet[index]);
    fleet[index].runningCount += 1;
    fleet[index].answeredCount += 1;
    running.push(fleet[index]);
  }
  const even = requestCount / 8;
  const own = eight.map(
    ({ index }) => prompts.filter((one) => chooseReplica(eight, one).index === index).length,
  );
  assert.ok(Math.max(...own) > 1.12 * (500 / 8), "by itself the choice is not even");
  for (const { answeredCount } of fleet)
    assert.ok(Math.abs(answeredCount / even - 1) < 0.1, `${answeredCount} of ${even}`);
  assert.ok(keptCount >= 0.88 * requestCount, `${keptCount} of ${requestCount}`);
});

test("gives a returning replica its own prompts, not all of the others'", () => {
  const recent = new RecentRequests(eight);
  const [back, ...others] = eight;
  for (let count = 0; count < 7000; count++) recent.add(others[count % 7]);
  recent.join(back, others);
  const running = eight.map((one) => ({ ...one, runningCount: 3, recentCount: recent.countOf(one) }));
  const moved = prefixes.filter(
    (prefix) => chooseReplica(running, prefix).index !== chooseReplica(eight, prefix).index,
  );
  assert.deepEqual(moved, []);
});

test("keeps a conversation until it is twice as long, and separates adapters, owners and salts", () => {
  const tokens = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
  const at = (count: number, more = {}) => hashPrefix(requestOf(tokens(count), more));
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
