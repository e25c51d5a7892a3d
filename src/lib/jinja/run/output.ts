// The text that a template, or a block of it, makes.
import type { Budget } from "../budget.ts";

export class Output {
  readonly #pieces: string[] = [];
  readonly #budget: Budget;
  #length = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  add(text: string): void {
    this.#length += text.length;
    this.#budget.require(this.#length);
    this.#pieces.push(text);
  }

  get text(): string {
    return this.#pieces.join("");
  }
}
