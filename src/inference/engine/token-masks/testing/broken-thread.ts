// A thread for one test that breaks down at the first request.
import { parentPort } from "node:worker_threads";

parentPort?.on("message", () => {
  throw new Error("this thread is broken");
});
