// A thread for one test that accepts all requests and answers none.
import { parentPort } from "node:worker_threads";

parentPort?.on("message", () => undefined);
