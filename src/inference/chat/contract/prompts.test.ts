// Runs the contract tests on the prompt threads, which servers use, and on the direct prompt writer, which other tests
// use.
import { after } from "node:test";
import { createPromptThreads, type PromptThreads } from "../prompts/prompt-threads.ts";
import { directPrompts } from "../testing/direct-prompts.ts";
import { checkPrompts } from "./check-prompts.ts";

const started = new Map<string, PromptThreads>();
after(() => Promise.all([...started.values()].map((threads) => threads.stop())));

// The tests share one writer per model, because they leave no state in it and starting threads takes longer than a
// test.
checkPrompts("prompt threads", async (folder) => {
  const threads = started.get(folder) ?? createPromptThreads({ folder, toolsAsText: false });
  started.set(folder, threads);
  return threads;
});

checkPrompts("direct prompts", directPrompts);
