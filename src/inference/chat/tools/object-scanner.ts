// Checks, character by character, whether a text is the beginning of one JSON object, so that the object can be
// forwarded while it arrives. Creates no value.

type Expected = "value" | "first value" | "first name" | "name" | "colon" | "next";

const scalarCharacter = /[-+.\da-zA-Z]/;
const scalar = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

export class ObjectScanner {
  /** Brackets that close the open arrays and objects, the outermost first. */
  readonly #closers: string[] = [];
  #expected: Expected = "value";
  #scalar = "";
  #string: "none" | "plain" | "escape" | "hex" = "none";
  #hexLeft = 0;

  /** True if the object is complete. */
  get isComplete(): boolean {
    return this.#expected === "next" && this.#closers.length === 0;
  }

  /** True if the last character was inside a string and did not begin an escape. */
  get isInText(): boolean {
    return this.#string === "plain";
  }

  /** True inside a number or literal, which may still turn out to be invalid. */
  get isInScalar(): boolean {
    return this.#scalar !== "";
  }

  /**
   * Takes the next character. Returns false if no JSON object can contain the character here; the scanner must not be
   * used after that.
   */
  accepts(character: string): boolean {
    if (this.#string !== "none") return this.#takeInString(character);
    if (scalarCharacter.test(character)) return this.#takeScalar(character);
    if (!this.#endScalar()) return false;
    if (" \t\n\r".includes(character)) return this.#closers.length > 0;
    return this.#takeSign(character);
  }

  #takeInString(character: string): boolean {
    switch (this.#string) {
      case "escape":
        this.#string = character === "u" ? "hex" : "plain";
        this.#hexLeft = 4;
        return '"\\/bfnrtu'.includes(character);
      case "hex":
        this.#hexLeft -= 1;
        if (this.#hexLeft === 0) this.#string = "plain";
        return /[\da-fA-F]/.test(character);
      default:
        if (character === "\\") this.#string = "escape";
        if (character === '"') this.#string = "none";
        return character >= " ";
    }
  }

  #takeScalar(character: string): boolean {
    if (this.#scalar === "") {
      if (!this.#expects("value", "first value") || this.#closers.length === 0) return false;
    }
    this.#scalar += character;
    return true;
  }

  #endScalar(): boolean {
    if (this.#scalar === "") return true;
    const isWhole = scalar.test(this.#scalar);
    this.#scalar = "";
    this.#expected = "next";
    return isWhole;
  }

  #takeSign(character: string): boolean {
    switch (character) {
      case "{":
        return this.#open("}", "first name");
      case "[":
        return this.#closers.length > 0 && this.#open("]", "first value");
      case '"':
        return this.#openString();
      case ":":
        return this.#moves("colon", "value");
      case ",":
        return this.#moves("next", this.#closers.at(-1) === "}" ? "name" : "value");
      default:
        return this.#close(character);
    }
  }

  #open(closer: string, expected: Expected): boolean {
    if (!this.#expects("value", "first value")) return false;
    this.#closers.push(closer);
    this.#expected = expected;
    return true;
  }

  #openString(): boolean {
    const isName = this.#expects("name", "first name");
    if (!isName && !(this.#expects("value", "first value") && this.#closers.length > 0)) return false;
    this.#string = "plain";
    this.#expected = isName ? "colon" : "next";
    return true;
  }

  #close(character: string): boolean {
    if (!this.#expects("next", character === "}" ? "first name" : "first value")) return false;
    if (this.#closers.pop() !== character) return false;
    this.#expected = "next";
    return true;
  }

  #moves(from: Expected, to: Expected): boolean {
    if (!this.#expects(from) || this.#closers.length === 0) return false;
    this.#expected = to;
    return true;
  }

  #expects(...expected: readonly Expected[]): boolean {
    return expected.includes(this.#expected);
  }
}
