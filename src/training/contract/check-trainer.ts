// The contract of every trainer: whoever trains a job for this project passes it.
import { describe } from "node:test";
import { checkCalls } from "./check-calls.ts";
import { checkNumbers } from "./check-numbers.ts";
import type { MakeTrainers } from "./trainers-under-test.ts";

/** Registers the tests that trainers must pass, under the given name. */
export function checkTrainer(name: string, make: MakeTrainers): void {
  describe(name, () => {
    checkNumbers(make);
    checkCalls(make);
  });
}
