// For one test: a thread that breaks down at the first thing that is asked of it.
import { parentPort } from "node:worker_threads";

parentPort?.on("message", () => {
  throw new Error("this thread is broken");
});
