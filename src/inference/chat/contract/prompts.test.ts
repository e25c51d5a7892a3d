// Two prompt writers under the contract: the threads that serve, and the direct one of other tests.
import { after } from "node:test";
import { createPromptThreads, type PromptThreads } from "../prompts/prompt-threads.ts";
import { directPrompts } from "../testing/direct-prompts.ts";
import { checkPrompts } from "./check-prompts.ts";

const started = new Map<string, PromptThreads>();
after(() => Promise.all([...started.values()].map((threads) => threads.stop())));

// One for each model: no test leaves anything in it, and threads take longer to start than to pass a test.
checkPrompts("prompt threads", async (folder) => {
  const threads = started.get(folder) ?? createPromptThreads({ folder, toolsAsText: false });
  started.set(folder, threads);
  return threads;
});

checkPrompts("direct prompts", directPrompts);
