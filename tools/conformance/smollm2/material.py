"""Generates texts and chats for comparing tokenizers and models; the same seed gives the same ones."""

import random

ALPHABETS = [
    (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x587), (0x5D0, 0x5EA),
    (0x620, 0x64A), (0x904, 0x939), (0x985, 0x9B9), (0xE01, 0xE30), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x1248),
    (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x1D400, 0x1D4FF), (0x20000, 0x20100),
]
DIGITS = [*"0123456789", "²", "½", "Ⅳ", "①", "٣", "৪", "三", "𝟜"]
BLANKS = [" ", "  ", "   ", "     ", "\t", "\t\t", "\n", "\n\n", "\r\n", "\r", " \n", "\n ", "\u00a0", "\u2003", "\u3000",
          "\u0085", "\u2028", "\u200b", "\ufeff", "\u180e", "\x0b", "\x1c", "\x00"]
MARKS = [*".,;:!?-_()[]{}<>/\\|@#$%^&*+=~`'\"", "…", "—", "«", "»", "¿", "、", "。", "€", "±", "→", "\u0301", "\u0308", "\u093f"]
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "'\u017f", "\u2019s", "don't", "I'll", "we'VE", "o'clock"]
EMOJI = ["😀", "👍🏽", "👩\u200d👧", "🇩🇪", "❤️", "🏳️\u200d🌈", "1️⃣", "🧑🏿\u200d🚀"]
CODE = ["def f(x):\n    return x + 1\n", "for (let i = 0; i < 10; i++) {\n\ta[i] = b;\n}", "SELECT * FROM t WHERE id=1;",
        "<div class=\"a\">&nbsp;</div>", "x->y != NULL && !z", "#include <stdio.h>\n", "{\"a\": [1, 2.5e-3, null]}", "0xFF_u32", "$HOME/.x"]
SPECIALS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<file_sep>", "<|im_start", "<|im_end|", "|>", "<jupyter_code>"]
WORDS = ("the a of and to in is you that it he was for on are with as his they be at one have this from or had by hot word but "
         "what some we can out other were all there when up use your how said an each she which do their time if will way about "
         "many then them would write like so these her long make thing see him two has look more day could go come did number "
         "sound no most people over know water than call first who may down side been now find any new work part take get place "
         "Straße naïve café Übermut São København fiancée coöperate HTTPServer snake_case camelCase don't Anti-hero 3rd COVID-19").split()


def letters(source: random.Random) -> str:
    low, high = source.choice(ALPHABETS)
    return "".join(chr(source.randint(low, high)) for _ in range(source.randint(1, 8)))


def piece(source: random.Random) -> str:
    kind = source.choices(["word", "letters", "digits", "blank", "mark", "contraction", "emoji", "code", "special", "any"],
                          [30, 12, 10, 14, 12, 6, 4, 3, 3, 4])[0]
    match kind:
        case "word":
            return source.choice(["", " ", " ", " "]) + source.choice(WORDS)
        case "letters":
            return letters(source)
        case "digits":
            return "".join(source.choice(DIGITS[:10] if source.random() < 0.7 else DIGITS) for _ in range(source.randint(1, 7)))
        case "any":
            return any_character(source)
        case _:
            lists = {"blank": BLANKS, "mark": MARKS, "contraction": CONTRACTIONS, "emoji": EMOJI, "code": CODE, "special": SPECIALS}
            return source.choice(lists[kind]) * source.choice([1, 1, 1, 2, 3])


def any_character(source: random.Random) -> str:
    """Returns a character from the basic or a supplementary plane, but never a lone surrogate."""
    code = source.choice([source.randint(0, 0xD7FF), source.randint(0xE000, 0xFFFF), source.randint(0x10000, 0x10FFFF)])
    return chr(code)


def texts(count: int, seed: int) -> list[str]:
    source = random.Random(seed)
    return ["".join(piece(source) for _ in range(source.randint(1, 24))) for _ in range(count)]


SUBJECTS = ["the sea", "a bicycle", "photosynthesis", "Paris", "prime numbers", "bread", "the moon", "gravity", "a cat", "Python", "tea",
            "rain", "friendship", "volcanoes", "chess", "the number 42", "musical scales", "electricity", "honey bees", "the Roman Empire"]
ASKED = ["What is {}?", "Tell me a short story about {}.", "Write one sentence about {}!", "List three facts about {}.",
         "Explain {} to a child.\nUse simple words.", "Translate to French: I like {}.", "Is {} important? Answer yes or no.",
         "Name something that goes with {}.", "Write a haiku on {} 🌸", "Finish: \"When I think of {}, I"]
SYSTEMS = [None, None, "You are a pirate.", "Answer in one word.", "You are a careful teacher.\n\nBe brief."]


def chats(count: int, seed: int) -> list[list[dict[str, str]]]:
    source = random.Random(seed)
    return [chat(source) for _ in range(count)]


def chat(source: random.Random) -> list[dict[str, str]]:
    def asked() -> dict[str, str]:
        return {"role": "user", "content": source.choice(ASKED).format(source.choice(SUBJECTS))}

    system = source.choice(SYSTEMS)
    messages = [] if system is None else [{"role": "system", "content": system}]
    for _ in range(source.choice([0, 0, 0, 1, 2])):
        messages += [asked(), {"role": "assistant", "content": source.choice(["Yes.", "Let me think…", "1, 2, 3", "I don't know."])}]
    return [*messages, asked()]
