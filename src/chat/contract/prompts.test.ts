// Two prompt writers under the contract: the threads that serve, and the direct one of other tests.
import { defaultsOf } from "../../domain/settings.ts";
import { createPromptThreads } from "../prompts/prompt-threads.ts";
import { chatSettings } from "../settings.ts";
import { directPrompts } from "../testing/direct-prompts.ts";
import { checkPrompts } from "./check-prompts.ts";

checkPrompts("prompt threads", async (folder, context) => {
  const threads = createPromptThreads(folder, defaultsOf(chatSettings));
  context.after(() => threads.stop());
  return threads;
});

checkPrompts("direct prompts", directPrompts);
