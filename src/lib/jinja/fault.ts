// The error of a template, for the template's author: a message, to which the interpreter adds the line.

/** Fault of a template that Jinja would refuse, too. Has Jinja's own message if that message helps. */
export class TemplateFault extends Error {
  /** Line in the source; null until it is known. */
  line: number | null;

  constructor(message: string, line: number | null = null) {
    super(message);
    this.line = line;
  }
}

/** Error that the template itself raises with `raise_exception`. */
export class TemplateRaised extends Error {}
