// Marks comments, texts, numbers and keywords of program code as HTML. It knows no grammar: one rule serves all languages
// with this kind of comments. Has no side effects.

/** Languages by the beginning of their comments to the end of the line. Other languages remain unmarked. */
const languages = {
  "//": "c cpp cs csharp css dart go java javascript js json jsonc jsx kotlin php rust rs scala scss swift ts tsx typescript zig",
  "#": "bash console dockerfile elixir julia makefile perl py python r rb ruby sh shell toml yaml yml zsh",
  "--": "haskell lua sql",
} as const;
const lineComments = new Map(
  Object.entries(languages).flatMap(([start, names]) =>
    names.split(" ").map((name) => [name, start] as const),
  ),
);

const keywords = new Set(
  (
    "abstract and as async await begin break case catch class const continue def default defer del do done echo elif " +
    "else elsif end enum esac except export extends extern false fi final finally fn for foreach from func function " +
    "go goto if impl implements import in interface is lambda let local loop match mod module mut namespace new nil " +
    "None not null or package pass private protected pub public raise readonly return select self static struct super " +
    "switch then this throw trait True False true try type typeof undefined unless until use using var virtual void " +
    "when where while with yield"
  ).split(" "),
);
/** SQL writes its keywords in any case. */
const sqlKeywords = new Set(
  (
    "select from where and or not insert into values update set delete create table drop alter join left right inner " +
    "outer on as group by order having limit offset distinct union all null is in exists case when then else end with"
  ).split(" "),
);

/**
 * Returns code as HTML, with each marked part in a `span`.
 *
 * @param language name after the fence of the code block, such as `python`
 * @param escaped escapes a text for HTML
 */
export function highlighted(code: string, language: string, escaped: (text: string) => string): string {
  const name = language.toLowerCase();
  const start = lineComments.get(name);
  if (start === undefined) return escaped(code);
  const isKeyword = (word: string): boolean =>
    name === "sql" ? sqlKeywords.has(word.toLowerCase()) : keywords.has(word);
  const block = start === "//" ? String.raw`|\/\*[^]*?(?:\*\/|$)` : "";
  // A `#` within a word, such as `$#` of a shell, begins no comment.
  const before = start === "#" ? String.raw`(?<![^\s;])` : "";
  const parts = new RegExp(
    [
      `(?<comment>${before}${start}[^\\n]*${block})`,
      String.raw`(?<text>"""[^]*?(?:"""|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'|` +
        "`(?:\\\\.|[^`\\\\])*`?)",
      String.raw`(?<number>\b\d[\w.]*)`,
      String.raw`(?<word>[\p{L}_$][\p{L}\p{N}_$]*)`,
    ].join("|"),
    "gu",
  );
  let html = "";
  let end = 0;
  for (const { 0: part, index, groups = {} } of code.matchAll(parts)) {
    const kind = Object.keys(groups).find((each) => groups[each] !== undefined) ?? "word";
    html += escaped(code.slice(end, index));
    end = index + part.length;
    if (kind === "word" && !isKeyword(part)) html += escaped(part);
    else html += `<span class="code-${kind}">${escaped(part)}</span>`;
  }
  return html + escaped(code.slice(end));
}
