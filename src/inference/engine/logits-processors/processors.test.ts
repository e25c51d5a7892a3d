// Tests how the built-in processors change scores, and how an operator's processors are loaded and checked.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { plainSampling } from "../../../base/domain/sampling.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { packVocabulary } from "../../../base/domain/vocabulary.ts";
import { PromptTokens, TokenHistory } from "../logits/draw-input.ts";
import { processorNames, readRegistrations } from "./registrations.ts";
import { loadProcessors, type ProcessorRegistry } from "./processor-registry.ts";

const vocabularySize = 8;
const texts = ["a", "b", "c", "d", "<think>", "</think>", null];
const vocabulary = packVocabulary(texts.map((text) => (text === null ? null : Buffer.from(text))));
const folder = mkdtempSync(join(tmpdir(), "hone-processors-"));
after(() => rmSync(folder, { recursive: true }));

function moduleOf(name: string, text: string): string {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, text);
  return `${name}=${file}`;
}

const load = (...entries: readonly string[]): Promise<ProcessorRegistry> =>
  loadProcessors(readRegistrations(entries), { vocabulary, vocabularySize });

interface Place {
  readonly prompt?: readonly number[];
  readonly answer?: readonly number[];
}

/** Returns the token ids that a processor still allows after a given prompt and answer. */
async function left(name: string, kwargs: JsonObject, place: Place): Promise<readonly number[]> {
  const registry = await load();
  const [processor] = registry.open(samplingWith(name, kwargs));
  const scores = Float32Array.from({ length: vocabularySize }, (_, id) => id / 2);
  processor.apply(scores, new TokenHistory(new PromptTokens(place.prompt ?? []), place.answer ?? []));
  return [...scores.keys()].filter((id) => scores[id] > -Infinity);
}

function samplingWith(name: string, kwargs: JsonObject = {}, extraArguments: JsonObject = {}) {
  return { ...plainSampling, seed: 1, processors: [{ name, args: [], kwargs }], extraArguments };
}

const all = [...Array(vocabularySize).keys()];
const without = (...ids: readonly number[]): readonly number[] => all.filter((id) => !ids.includes(id));

test("no-repeat-ngram forbids tokens that would repeat an n-gram of the answer", async () => {
  const check = async (size: number, place: Place, forbidden: readonly number[], prompt = false) =>
    assert.deepEqual(await left("no-repeat-ngram", { size, prompt }, place), without(...forbidden));
  await check(1, { answer: [0, 2] }, [0, 2]);
  await check(2, { answer: [0, 1, 0, 2, 0] }, [1, 2]);
  await check(3, { answer: [0, 1, 2, 0, 1] }, [2]);
  await check(3, { answer: [0, 1, 2, 1] }, []);
  await check(4, { answer: [0, 1] }, []);
  await check(2, { prompt: [0, 1], answer: [0] }, []);
  await check(2, { prompt: [0, 1], answer: [0] }, [1], true);
});

test("thinking-budget forces the end of thinking once it is used up, and otherwise changes nothing", async () => {
  const check = async (kwargs: JsonObject, place: Place, expected: readonly number[]) =>
    assert.deepEqual(await left("thinking-budget", kwargs, place), expected);
  await check({ budget: 2 }, { prompt: [0, 4], answer: [1] }, all);
  await check({ budget: 2 }, { prompt: [0, 4], answer: [1, 1] }, [5]);
  await check({ budget: 2 }, { prompt: [0, 4, 6, 6, 6], answer: [1] }, all);
  await check({ budget: 2 }, { prompt: [0], answer: [4, 1, 1] }, [5]);
  await check({ budget: 0 }, { prompt: [4] }, [5]);
  await check({ budget: 1 }, { prompt: [0], answer: [1, 1, 1] }, all);
  await check({ budget: 1 }, { prompt: [4, 1, 5], answer: [1, 1] }, all);
  await check({ budget: 1 }, { prompt: [4], answer: [1, 5, 1, 1] }, all);
  await check({ budget: 1 }, { prompt: [4, 1, 5, 4], answer: [1] }, [5]);
});

test("thinking-budget takes sequences by ids, and forces them token by token", async () => {
  const check = async (answer: readonly number[], expected: readonly number[]) =>
    assert.deepEqual(
      await left("thinking-budget", { budget: 2, start: [], end: [0, 1, 2] }, { prompt: [3], answer }),
      expected,
    );
  await check([3], all);
  await check([3, 3], [0]);
  await check([3, 3, 0], [1]);
  await check([3, 3, 0, 1], [2]);
  await check([3, 3, 0, 1, 2], all);
  await check([3, 0, 1], [2]);
});

test("thinking-budget does nothing if the end is forbidden", async () => {
  const [processor] = (await load()).open(samplingWith("thinking-budget", { budget: 0 }));
  const scores = Float32Array.of(1, 1, 1, 1, 1, -Infinity, 1, 1);
  processor.apply(scores, new TokenHistory(new PromptTokens([4]), []));
  assert.deepEqual([...scores], [1, 1, 1, 1, 1, -Infinity, 1, 1]);
});

test("thinking-budget reads its budget from the request's extra arguments too", async () => {
  const registry = await load();
  const [processor] = registry.open(samplingWith("thinking-budget", {}, { thinking_budget: 0 }));
  const scores = new Float32Array(vocabularySize);
  processor.apply(scores, new TokenHistory(new PromptTokens([4]), []));
  assert.equal([...scores].filter((score) => score === 0).length, 1);
});

test("refuses arguments that a processor does not take, with its name and its message", async () => {
  const registry = await load(moduleOf("odd", "export const createProcessor = () => 5;"));
  const table: readonly (readonly [string, JsonObject, RegExp])[] = [
    ["no-repeat-ngram", {}, /"no-repeat-ngram" does not take these arguments: size is missing; it must be/],
    ["no-repeat-ngram", { size: 0 }, /size is 0; it must be a whole number of at least 1\.$/],
    ["no-repeat-ngram", { size: 2, prompt: 1 }, /prompt must be true or false/],
    ["thinking-budget", { budget: -1 }, /budget is -1/],
    ["thinking-budget", { budget: 1, end: [8] }, /end must be a list of token ids from 0 to 7/],
    ["thinking-budget", { budget: 1, end: [] }, /at least one token id/],
    ["odd", {}, /"odd" is broken: createProcessor returned no function/],
  ];
  for (const [name, kwargs, message] of table) {
    assert.throws(
      () => registry.open(samplingWith(name, kwargs)),
      (error: unknown) => {
        assert.ok(error instanceof Error && message.test(error.message), String(error));
        return true;
      },
    );
  }
  const other = await loadProcessors([], { vocabulary: packVocabulary([]), vocabularySize });
  const open = () => other.open(samplingWith("thinking-budget", { budget: 1 }));
  assert.throws(open, { message: /no token <think>; start must give its token ids/, code: "unsupported" });
  const [lenient] = other.open(samplingWith("thinking-budget", { budget: 0, optional: true }));
  const scores = new Float32Array(vocabularySize);
  lenient.apply(scores, new TokenHistory(new PromptTokens([4]), [1]));
  assert.ok(scores.every((score) => score === 0));
});

test("an operator's module gets the request's arguments, and its faults end the request by name", async () => {
  const registry = await load(
    moduleOf(
      "mine",
      `export function createProcessor({ args, kwargs, extra, model }) {
        if (kwargs.bad) throw new Error("no such thing.");
        return ({ promptTokenIds, answerTokenIds, logits }) => {
          if (kwargs.fails) throw new Error("nothing works");
          if (kwargs.nan) logits[3] = NaN;
          logits[0] = args.length + extra.a + promptTokenIds.length * 10 + answerTokenIds.length * 100;
          logits[1] = model.tokenOf("c") + model.tokenBytes(0)[0];
        };
      }`,
    ),
  );
  const open = (kwargs: JsonObject) => registry.open(samplingWith("mine", kwargs, { a: 3 }))[0];
  const history = new TokenHistory(new PromptTokens([1, 2]), [5]);
  const scores = new Float32Array(vocabularySize);
  open({}).apply(scores, history);
  assert.deepEqual(Array.from(scores.subarray(0, 2)), [123, 99]);
  const refused = (message: RegExp) => ({ code: "unsupported", message });
  assert.throws(() => open({ bad: true }), refused(/"mine" does not take these arguments: no such thing\.$/));
  assert.throws(
    () => open({ fails: true }).apply(scores, history),
    refused(/"mine" failed: nothing works\.$/),
  );
  assert.throws(
    () => open({ nan: true }).apply(scores, history),
    refused(/made the score of token 3 NaN\.$/),
  );
});

test("refuses an asynchronous processor by name, without harm to other requests", async () => {
  const registry = await load(
    moduleOf("late", "export const createProcessor = async () => { throw new Error('late'); };"),
    moduleOf("slow", "export const createProcessor = () => async () => { throw new Error('slow'); };"),
  );
  const refused = (message: RegExp) => ({ code: "unsupported", message });
  assert.throws(
    () => registry.open(samplingWith("late")),
    refused(/"late" is broken: createProcessor is asynchronous/),
  );
  const [slow] = registry.open(samplingWith("slow"));
  const history = new TokenHistory(new PromptTokens([1]), []);
  assert.throws(
    () => slow.apply(new Float32Array(vocabularySize), history),
    refused(/"slow" is broken: it is asyn/),
  );
});

test("refuses a module that cannot be loaded, naming its file", async () => {
  const table: readonly (readonly [string, RegExp])[] = [
    [`gone=${join(folder, "gone.mjs")}`, /the module .*gone\.mjs of "gone" cannot be loaded: /],
    [moduleOf("broken", "this is no JavaScript"), /broken\.mjs of "broken" cannot be loaded: /],
    [moduleOf("throws", "throw new Error('oh')"), /throws\.mjs of "throws" cannot be loaded: oh\.$/],
    [moduleOf("other", "export const process = 1;"), /"other" exports no function createProcessor/],
  ];
  for (const [entry, message] of table) await assert.rejects(load(entry), { code: "invalid", message });
});

test("reads the registered processors, and refuses duplicate or malformed names", () => {
  assert.deepEqual(processorNames(readRegistrations(["a.b:C=x.mjs"])), [
    "no-repeat-ngram",
    "thinking-budget",
    "a.b:C",
  ]);
  for (const entries of [["a"], ["=x"], ["a="], ["a b=x"], ["a=x", "a=y"], ["thinking-budget=x"]]) {
    assert.throws(() => readRegistrations(entries), {
      code: "invalid",
      message: /^engine\.logitsProcessors /,
    });
  }
});

test("a module that changes its arguments, tokens or scores affects no other request, nor the next token", async () => {
  const grasping = `
    export function createProcessor({ args, kwargs, extra }) {
      const { does } = kwargs;
      args.push(1); kwargs.size = 9; extra.own = 1;
      return ({ promptTokenIds, answerTokenIds, logits }) => {
        if (does === "extends the prompt") promptTokenIds.push(7);
        answerTokenIds.push(7); answerTokenIds[0] = 6;
        if (does === "gives its scores away") structuredClone(logits, { transfer: [logits.buffer] });
        else new Float32Array(logits.buffer).fill(3);
        if (does === "makes one NaN") logits[2] = NaN;
        if (does === "makes one infinite") logits[2] = Infinity;
        if (does === "throws nothing") throw null;
        if (does === "throws a value without text") throw Object.create(null);
        if (does === "throws an error that throws")
          throw Object.defineProperty(new Error(), "message", { get() { throw new Error(); } });
        if (does === "throws a symbol") throw Symbol("s");
        if (does === "is asynchronous") return Promise.reject(new Error());
      };
    }`;
  const registry = await load(moduleOf("grasping", grasping));
  const faults: Readonly<Record<string, RegExp | null>> = {
    nothing: null,
    "extends the prompt": /failed: Cannot add property/,
    "gives its scores away": /is broken: it detached the buffer of its scores/,
    "makes one NaN": /made the score of token 2 NaN/,
    "makes one infinite": /made the score of token 2 Infinity/,
    "throws nothing": /failed: null/,
    "throws a value without text": /failed: it threw a value without text/,
    "throws an error that throws": /failed: it threw a value without text/,
    "throws a symbol": /failed: Symbol\(s\)/,
    "is asynchronous": /is broken: it is asynchronous/,
  };
  for (const [does, message] of Object.entries(faults)) {
    const sampling = samplingWith("grasping", { does });
    const [processor] = registry.open(sampling);
    assert.deepEqual(sampling, samplingWith("grasping", { does }), does);
    // The scores of a batch of three rows; the request's own row is in the middle.
    const batch = new Float32Array(3 * vocabularySize);
    const scores = batch.subarray(vocabularySize, 2 * vocabularySize);
    const [prompt, answer] = [
      [0, 4],
      [1, 2],
    ];
    for (let token = 0; token < 2; token++) {
      const apply = () => processor.apply(scores, new TokenHistory(new PromptTokens(prompt), answer));
      if (message === null) apply();
      else assert.throws(apply, { code: "unsupported", message }, does);
    }
    assert.deepEqual(
      [prompt, answer],
      [
        [0, 4],
        [1, 2],
      ],
      does,
    );
    const own = message === null ? 3 : 0;
    const expected = Array.from({ length: 3 }, (_, row) =>
      Array<number>(vocabularySize).fill(row === 1 ? own : 0),
    );
    assert.deepEqual([...batch], expected.flat(), does);
  }
});
