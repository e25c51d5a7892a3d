// The contract for searches for words in stored trajectories and completions, which every database must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import { anyCompletion } from "../../../../base/domain/recordings/completion-store.ts";
import type { TrajectoryGroup } from "../../../../base/domain/trajectory.ts";
import { sampleCompletion, sampleContent, samplePrompt } from "../completion-store.ts";
import {
  groupLines,
  groupOutlines,
  type MakeStorage,
  sampleGroup,
  sampleJob,
  sampleLog,
  storeModel,
} from "../storage-under-test.ts";

const turn = { entity: "team", timeMs: 60_000 };
const all = { after: null, limit: 100, order: "asc" } as const;

/** Returns a group with one trajectory for each text, which is the content of its only message. */
function groupOf(...texts: readonly string[]): TrajectoryGroup {
  const group = sampleGroup(1);
  const [trajectory] = group.trajectories;
  const trajectories = texts.map((content) => ({
    ...trajectory,
    messagesAndChoices: [{ role: "user", content }],
  }));
  return { ...group, trajectories };
}

/** Registers the tests of searches for words. */
export function checkWordSearch(makeStorage: MakeStorage): void {
  test("finds trajectories of logs and jobs by words of their groups, in either case", async (t) => {
    const { models, trajectories, jobs } = await (await makeStorage(t))();
    await storeModel(models, "m");
    const long = "padding ".repeat(200_000);
    const groups = [
      groupOf('She said "Zebra\n100%" to MÜLLER', "a horse"),
      groupOf("東京 tower"),
      groupOf(`${long}lion`),
    ];
    await trajectories.append(sampleLog("a", { groups }), () => ({}));
    const ofJob = [groupOf("first"), groupOf("a zebra of the job")];
    await jobs.create(sampleJob("j", "m"), groupLines(ofJob), null, { outlines: groupOutlines(ofJob) });
    const nothing = { source: null, split: null, step: null, rewardMin: null, rewardMax: null, metrics: [] };
    const filter = { ...nothing, recordedFrom: null, recordedBefore: null };
    const { items } = await trajectories.listOutlines("m", filter, all);
    const found = async (...words: readonly string[]) => [
      ...(await trajectories.findWords(items, words, turn)),
    ];
    // A group that is stored in several parts is always found, because only its first part is scanned.
    assert.deepEqual(await found("zebra"), [1, 2, 4, 6]);
    assert.deepEqual(await found("zebra", "horse"), [1, 2, 4]);
    assert.deepEqual(await found("müller"), [1, 2, 4]);
    assert.deepEqual(await found('"zebra\n100%"'), [1, 2, 4]);
    assert.deepEqual(await found("東京"), [3, 4]);
    assert.deepEqual(await found("first"), [4, 5]);
    assert.deepEqual([...(await trajectories.findWords([], ["first"], turn))], []);
    assert.deepEqual([...(await trajectories.findWords(items.slice(4), ["zebra"], turn))], [6]);
  });

  test("finds completions by words of their own content and of shared prompts", async (t) => {
    const { models, completions } = await (await makeStorage(t))();
    await storeModel(models, "m");
    await storeModel(models, "n");
    const rules = `Never mention a Zebra. ${"Be brief. ".repeat(100)}`;
    const more = `Müller writes ${"much ".repeat(200)}`;
    const content = (...texts: readonly string[]) => ({
      content: sampleContent({ prompt: samplePrompt(...texts) }),
    });
    await completions.add([
      sampleCompletion("a", content(rules, "hello")),
      sampleCompletion("b", content(rules, more, "and a horse")),
      sampleCompletion("c", content("short", "a horse")),
      sampleCompletion("d", { modelId: "n", ...content(rules, "hello") }),
      sampleCompletion("e", { content: null }),
    ]);
    const { items } = await completions.list(anyCompletion, all);
    const found = async (words: readonly string[], among = items) => {
      const numbers = await completions.findWords(among, words, turn);
      return among.filter(({ number }) => numbers.has(number)).map(({ requestId }) => requestId);
    };
    assert.deepEqual(await found(["zebra"]), ["a", "b", "d"]);
    assert.deepEqual(await found(["zebra", "horse"]), ["b"]);
    assert.deepEqual(await found(["müller", "zebra", "horse"]), ["b"]);
    assert.deepEqual(await found(["horse"]), ["b", "c"]);
    assert.deepEqual(await found(["zebra"], items.slice(1, 3)), ["b"]);
    assert.deepEqual(await found(["lion"]), []);
    assert.deepEqual(await found(["zebra"], []), []);
  });
}
