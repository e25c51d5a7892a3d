// The error of a template, for its author: a message, to which the interpreter adds the line.

/** A template that Jinja would refuse, in its words where they help. */
export class TemplateFault extends Error {
  /** Where in the source; null until it is known. */
  line: number | null;

  constructor(message: string, line: number | null = null) {
    super(message);
    this.line = line;
  }
}

/** What the template itself says by `raise_exception`. */
export class TemplateRaised extends Error {}
