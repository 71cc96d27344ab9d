"""Gender of translated occupations: minimal pairs with two occupations and a pronoun (WinoMT)."""
