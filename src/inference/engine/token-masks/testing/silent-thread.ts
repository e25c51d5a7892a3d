// For one test: a thread that takes everything and answers nothing.
import { parentPort } from "node:worker_threads";

parentPort?.on("message", () => undefined);
