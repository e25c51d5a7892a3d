// Runs the contract tests on the prompt threads, which servers use, and on the direct prompt writer, which other tests
// use.
import { after } from "node:test";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { createPromptThreads, type PromptThreads } from "../prompts/prompt-threads.ts";
import { directPrompts } from "../testing/direct-prompts.ts";
import { checkPrompts, recordedModels } from "./check-prompts.ts";

const started = new Map<string, PromptThreads>();
after(() => Promise.all([...started.values()].map((threads) => threads.stop())));

// The tests share one writer per model, because they leave no state in it and starting threads takes longer than a
// test.
const threadsOf = async (folder: string): Promise<PromptThreads> => {
  const threads = started.get(folder) ?? createPromptThreads({ folder, toolsAsText: false });
  started.set(folder, threads);
  return threads;
};
checkPrompts("prompt threads", threadsOf, searchedOf(recordedModels, 4));

checkPrompts("direct prompts", directPrompts);
