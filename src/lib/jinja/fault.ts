// The error of a template, for its author: a message, to which the interpreter adds the line.

/** Fault of a template that Jinja would refuse, with Jinja's own message if it helps. */
export class TemplateFault extends Error {
  /** Line in the source; null until it is known. */
  line: number | null;

  constructor(message: string, line: number | null = null) {
    super(message);
    this.line = line;
  }
}

/** The template's own error, from `raise_exception`. */
export class TemplateRaised extends Error {}
