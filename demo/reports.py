"""Inspection reports of tide stations, in five languages: as many as are wanted, with invented readings."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Wording:
    """What a report says in one language; braces are filled in."""

    stations: tuple[str, ...]
    title: str
    visit: str
    columns: str
    findings: tuple[str, ...]
    closing: str


WORDINGS = {
    "en": Wording(
        ("Whitby North Pier", "Berwick Harbour", "Lerwick Quay", "Bar Rock", "Holy Island"),
        "Inspection of the station {station}",
        "The station was inspected on {date}. The sea was {sea} and the visit took {minutes} minutes.",
        "| Time | Staff (m) | Gauge (m) | Difference (mm) |",
        (
            "Mussels had settled on the stilling tube and were scraped off.",
            "The desiccant was pink and has been replaced.",
            "The battery shows {volts} volts and will last until the next visit.",
            "One bracket was loose; all four were tightened to 25 newton metres.",
            "The clock of the radio modem was {minutes} seconds late and has been set.",
            "A gull nests on the solar panel. The harbour master asks us to wait until July.",
        ),
        "The gauge agrees with the staff within the tolerance. The next inspection is due in six months.",
    ),
    "de": Wording(
        ("Travemünde Mole", "Wismar Hafen", "Sassnitz", "Büsum Schleuse", "Norderney"),
        "Prüfbericht der Station {station}",
        "Die Station wurde am {date} geprüft. Die See war {sea}, der Besuch dauerte {minutes} Minuten.",
        "| Uhrzeit | Latte (m) | Pegel (m) | Abweichung (mm) |",
        (
            "Am Schutzrohr hatten sich Muscheln angesetzt; sie wurden entfernt.",
            "Das Trockenmittel war verfärbt und wurde gewechselt.",
            "Die Batterie hat noch {volts} Volt und reicht bis zum nächsten Termin.",
            "Eine Schelle war locker; alle vier wurden nachgezogen.",
            "Die Uhr des Funkmodems ging {minutes} Sekunden nach und wurde gestellt.",
        ),
        "Die Abweichung liegt innerhalb der zulässigen Grenzen. Die nächste Prüfung ist in sechs Monaten fällig.",
    ),
    "fr": Wording(
        ("Roscoff digue nord", "Île de Batz", "Le Conquet", "Douarnenez", "Concarneau"),
        "Visite de la station {station}",
        "La station a été visitée le {date}. La mer était {sea} et la visite a duré {minutes} minutes.",
        "| Heure | Échelle (m) | Marégraphe (m) | Écart (mm) |",
        (
            "Des moules s'étaient fixées sur le tube; elles ont été retirées.",
            "Le dessiccant était saturé et a été remplacé.",
            "La batterie indique {volts} volts et tiendra jusqu'à la prochaine visite.",
            "Un collier était desserré; les quatre ont été resserrés.",
            "L'horloge du modem avait {minutes} secondes de retard et a été réglée.",
        ),
        "L'écart reste dans les limites admises. La prochaine visite est prévue dans six mois.",
    ),
    "es": Wording(
        ("Vigo muelle viejo", "Baiona", "A Guarda", "Muros", "Corcubión"),
        "Inspección de la estación {station}",
        "La estación se revisó el {date}. La mar estaba {sea} y la visita duró {minutes} minutos.",
        "| Hora | Regla (m) | Mareógrafo (m) | Diferencia (mm) |",
        (
            "Había mejillones en el tubo de protección y se retiraron.",
            "El desecante estaba húmedo y se cambió.",
            "La batería marca {volts} voltios y aguantará hasta la próxima visita.",
            "Una abrazadera estaba floja; se apretaron las cuatro.",
            "El reloj del módem iba {minutes} segundos atrasado y se puso en hora.",
        ),
        "La diferencia está dentro de los límites. La próxima inspección será dentro de seis meses.",
    ),
    "cs": Wording(
        ("Brno přehrada", "Vranov", "Lipno", "Orlík", "Slapy"),
        "Zpráva o kontrole stanice {station}",
        "Stanice byla zkontrolována dne {date}. Hladina byla {sea} a návštěva trvala {minutes} minut.",
        "| Čas | Lať (m) | Hladinoměr (m) | Rozdíl (mm) |",
        (
            "Na ochranné trubce se usadily řasy, které jsme odstranili.",
            "Vysoušedlo bylo vlhké a bylo vyměněno.",
            "Baterie má {volts} voltu a vydrží do příští návštěvy.",
            "Jedna objímka byla povolená; všechny čtyři jsme dotáhli.",
            "Hodiny modemu se opožďovaly o {minutes} sekund a byly seřízeny.",
        ),
        "Rozdíl je v povolených mezích. Další kontrola bude za šest měsíců.",
    ),
}
_SEA = {
    "en": ("calm", "slight", "choppy"),
    "de": ("ruhig", "leicht bewegt", "bewegt"),
    "fr": ("calme", "belle", "peu agitée"),
    "es": ("en calma", "rizada", "picada"),
    "cs": ("klidná", "mírně zvlněná", "neklidná"),
}


def report(random: Random, language: str) -> tuple[str, str]:
    """The station and the text of one report."""
    words = WORDINGS[language]
    station = random.choice(words.stations)
    fill = {
        "station": station,
        "date": f"2024-{random.randint(1, 12):02}-{random.randint(1, 28):02}",
        "sea": random.choice(_SEA[language]),
        "minutes": str(random.randint(35, 140)),
        "volts": f"{random.uniform(11.6, 12.9):.1f}",
    }
    lines = [f"# {words.title}", words.visit, words.columns]
    level = random.uniform(0.8, 2.4)
    for hour in range(random.randint(6, 10), random.randint(12, 16)):
        level += random.uniform(-0.4, 0.4)
        drift = random.randint(-7, 7)
        lines.append(f"| {hour}:{random.choice((0, 6, 12)):02} | {level:.3f} | {level + drift / 1000:.3f} | {drift} |")
    lines += [f"- {finding}" for finding in random.sample(words.findings, 3)]
    lines.append(words.closing)
    return station, "\n".join(line.format(**fill) for line in lines) + "\n"
