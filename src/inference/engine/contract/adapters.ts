// Contract tests of adapters. An adapter answers the requests that name it, even if it was dropped before or is used
// for the first time. An unreadable adapter fails only the requests that name it.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { adapterFiles, adapterHash } from "../../architectures/hashes/adapter-hash.ts";
import { withAdapter } from "../testing/run-loop.ts";
import {
  adapter,
  answerOf,
  ask,
  checkSameTokens,
  idle,
  read,
  greedyAnswer,
  sharedEngine,
  type EngineUnderTest,
} from "./engine-under-test.ts";

const plain = ask({ maxTokens: 8, topLogprobCount: 0 });
const missing = { id: "missing:1", folder: "test/fixtures/goldens/models/llama" };

/** Creates an adapter with the matrices of the fixture, but three times the scale. */
function createStrongerAdapter(id: string): AdapterReference {
  const folder = mkdtempSync(join(tmpdir(), "hone-stronger-"));
  after(() => rmSync(folder, { recursive: true }));
  cpSync(adapter.folder, folder, { recursive: true });
  const file = join(folder, adapterFiles.config);
  // Safe cast: the fixture belongs to this project.
  const config = JSON.parse(readFileSync(file, "utf8")) as { readonly lora_alpha: number };
  writeFileSync(file, JSON.stringify({ ...config, lora_alpha: 3 * config.lora_alpha }));
  return { id, folder, hash: adapterHash(folder) };
}

export function checkAdapters(under: EngineUnderTest): void {
  const { name, make } = under;
  const shared = sharedEngine(under);

  test(`${name}: an adapter gives its own answers, also after it was dropped`, async () => {
    const engine = await shared();
    const adapted = withAdapter({ ...plain, id: "adapted" }, adapter);
    const before = await answerOf(engine, adapted);
    const [base, beside] = await Promise.all([answerOf(engine, plain), answerOf(engine, adapted)]);
    assert.notDeepEqual(base.logprobs(), before.logprobs());
    const running = read(engine.submit({ ...adapted, id: "running" }), () => engine.dropAdapter(adapter.id));
    engine.dropAdapter("never loaded");
    const dropped = await running;
    const again = await answerOf(engine, adapted);
    for (const answer of [beside, dropped, again]) checkSameTokens(engine, answer, before);
  });

  test(`${name}: an adapter answers the same whether it was prepared or not`, async () => {
    const engine = await shared();
    const unprepared = await answerOf(engine, withAdapter(plain, { ...adapter, id: "unprepared:1" }));
    const prepared = { ...adapter, id: "prepared:1" };
    await engine.prepareAdapter(prepared);
    await engine.prepareAdapter(prepared);
    checkSameTokens(engine, await answerOf(engine, withAdapter(plain, prepared)), unprepared);
  });

  test(`${name}: an unused prepared adapter is replaced by another with its id`, async () => {
    const engine = await shared();
    const first = { id: "again:1", folder: adapter.folder, hash: adapterHash(adapter.folder) };
    await engine.prepareAdapter(first);
    const second = createStrongerAdapter(first.id);
    const expected = await answerOf(engine, withAdapter(plain, { ...second, id: "other:1" }));
    const weaker = await answerOf(engine, withAdapter(plain, { ...first, id: "weaker:1" }));
    assert.notDeepEqual(weaker.logprobs(), expected.logprobs());
    checkSameTokens(engine, await answerOf(engine, withAdapter(plain, second)), expected);
  });

  test(`${name}: an unreadable adapter is refused when it is prepared, and fails only its request`, async () => {
    const engine = await shared();
    await assert.rejects(engine.prepareAdapter(missing), { code: "conflict" });
    const [failed, fine] = await Promise.all([
      read(engine.submit(withAdapter(ask({ choiceCount: 2 }), missing))),
      read(engine.submit(ask({ id: "fine", maxTokens: 4 }))),
    ]);
    assert.match(failed.failure ?? "", /^conflict: /);
    assert.doesNotMatch(failed.failure ?? "", /fixtures/);
    assert.deepEqual(failed.events, []);
    assert.deepEqual(fine.ids(), greedyAnswer(under).slice(0, 4));
    await idle(engine);
  });

  test(`${name}: an engine that is not up ignores a request to prepare an adapter`, async () => {
    const engine = make({ waitingCountMax: 1 });
    await assert.rejects(engine.prepareAdapter(adapter), { code: "unavailable" });
    await engine.stop();
    await assert.rejects(engine.prepareAdapter(adapter), { code: "unavailable" });
  });
}
