"""Tokens that are known by how their issuer begins them, and secrets that stand behind a tool's option or a name.

Each beginning is followed by as many characters as that issuer gives: a hash, a path or an identifier of a run has none of them.
"""

from __future__ import annotations

import re

from store import lazy

_HEX32, _UUID = r"[0-9a-f]{32}", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"

ISSUED: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, lazy.compile(rf"(?<![A-Za-z0-9_-])(?:{'|'.join(shapes)})"))
    for kind, shapes in {
        "cloud key": (
            r"1//0[A-Za-z0-9_-]{40,}",
            r"ABSK[A-Za-z0-9+/=]{100,}",
            r"(?:IQoJ|FwoG|FQoG)[A-Za-z0-9+/=]{60,}",
            r"LTAI[A-Za-z0-9]{16,20}(?![A-Za-z0-9])",
            r"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])",
            r"AQVN[A-Za-z0-9_-]{35,}",
            r"t1\.[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{80,}",
            r"CW-SECRET-[A-Za-z0-9]{32,}",
            r"HRKU-(?:" + _UUID + r"|AA[A-Za-z0-9_-]{50,})",
            r"AKLT[A-Za-z0-9]{40,}",
            r"GOOG1E[A-Z0-9]{50,}",
            r"DO00[A-Z0-9]{16}(?![A-Za-z0-9])",
            r"v1\.0-[0-9a-f]{24}-[0-9a-f]{140,}",
            r"amzn\.mws\." + _UUID,
            r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}",
            r"sb_secret_[A-Za-z0-9_-]{24,}",
            r"sbp_[0-9a-f]{40}",
            r"f(?:o1|m[12]r?)_[A-Za-z0-9+/=_-]{40,}",
            r"rnd_[A-Za-z0-9]{28,}",
            r"nf[bcopu]_[A-Za-z0-9]{36,}",
            r"vc[aikpr]_[A-Za-z0-9]{40,}",
            r"pul-[0-9a-f]{40}",
            r"tskey-[a-z]{3,8}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,}",
            r"rpa_[A-Z0-9]{40,}",
            r"a[ks]-(?=[a-z0-9]*[A-Z])(?=[A-Z0-9]*[a-z])[A-Za-z0-9]{22}(?![A-Za-z0-9])",
            r"gAAAAA[A-Za-z0-9_-]{80,}={0,2}",
            r"[A-Za-z0-9]{52}JQQJ9[9D][A-Za-z0-9]{20,26}(?![A-Za-z0-9])",
        ),
        "model key": (
            r"sk-lf-" + _UUID,
            r"sk_[0-9a-f]{48}",
            r"(?:jina|isat|ph[xs])_[A-Za-z0-9_-]{40,}",
            r"nk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",
            r"ms-" + _UUID,
            r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}",
            r"tgp_v1_[A-Za-z0-9_-]{30,}",
            r"fw_(?=[A-Za-z]*\d)[A-Za-z0-9]{22,26}(?![A-Za-z0-9])",
            r"csk-[a-z0-9]{40,}",
            r"pa-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",
            r"pcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{40,}",
            r"tvly-[A-Za-z0-9-]{24,}",
            r"KGAT_[0-9a-f]{32}",
            r"pnu_[A-Za-z0-9]{30,}",
            r"secret_[A-Za-z0-9_]{1,40}_[0-9a-f]{32}\.[A-Za-z0-9]{20,}",
            r"esecret_[A-Za-z0-9]{20,}",
            r"e2b_[0-9a-f]{40}",
            rf"fc-{_HEX32}(?![0-9a-f])",
            r"rf_(?=[A-Za-z]*\d)[A-Za-z0-9]{28}(?![A-Za-z0-9])",
        ),
        "service token": (
            r"inq_[A-Za-z0-9_-]{43}",
            r"ops_eyJ[A-Za-z0-9_=-]{100,}",
            r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}",
            r"tfp_[A-Za-z0-9_-]{40,}",
            r"pat-[a-z]{2}\d-" + _UUID,
            r"sl\.u\.[A-Za-z0-9_-]{80,}",
            r"hcaik_[a-z0-9]{58}",
            r"oy2[a-z0-9]{43}(?![a-z0-9])",
            r"CFPAT-[A-Za-z0-9_-]{43}",
            r"(?:api|sdk|mob)-" + _UUID,
            r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}",
            r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
            rf"SK{_HEX32}(?![0-9a-f])",
            rf"{_HEX32}-us\d{{1,2}}(?![0-9])",
            r"EAAA[A-Za-z0-9_-]{56,}",
            r"sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}",
            r"ntn_[A-Za-z0-9]{40,}",
            r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])",
            r"figd_[A-Za-z0-9_-]{38,}",
            r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
            r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
            r"NRAK-[A-Z0-9]{27}",
            r"rubygems_[0-9a-f]{48}",
            r"cio(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{32}(?![A-Za-z0-9])",
            r"CCI(?:PAT|PRJ)_[A-Za-z0-9]{20,}_[0-9a-f]{40}",
            r"bk[a-z]{1,3}_[0-9a-f]{40}",
            r"AKCp[A-Za-z0-9]{60,}",
            r"cmVmdGtuO[A-Za-z0-9+/=]{50,}",
            r"sq[apu]_[0-9a-f]{40}",
            r"snyk_[us]at\.[A-Za-z0-9]{8}\.[A-Za-z0-9._-]{30,}",
            r"syt_[A-Za-z0-9]{4,}_[A-Za-z0-9]{20}_[A-Za-z0-9]{6}",
            r"s\.(?=[A-Za-z]*\d)(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{24}(?![A-Za-z0-9])",
            r"BSA(?=[A-Za-z_-]*\d)(?=[A-Z0-9_-]*[a-z])[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])",
            r"ico-(?=[A-Za-z]*\d)[A-Za-z0-9]{32}(?![A-Za-z0-9])",
            r"4b1d(?=[a-z0-9]*[A-Z])[A-Za-z0-9]{38}(?![A-Za-z0-9])",
            r"(?:pub)?key-(?=[a-z]*\d)[a-z0-9]{32}(?![a-z0-9])",
        ),
    }.items()
)
"""Kind, and what it looks like; every one has a `LONG`."""

HINTED: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("password hash", lazy.compile(r"\$(?:apr1|1|2[abxy]|5|6|y|gy|argon2id?)\$[A-Za-z0-9./$,=+-]{20,}")),
    (
        "webhook",
        lazy.compile(
            r"webhook\.office\.com/webhookb2/[^\s\"'<>]{30,}|hooks\.zapier\.com/hooks/catch/[^\s\"'<>]{8,}"
            r"|/bot/v2/hook/[0-9a-fA-F-]{30,}|/hooks/[a-z0-9]{26}(?![a-z0-9])|api\.telegram\.org/bot\d{6,12}:[A-Za-z0-9_-]{30,}"
        ),
    ),
)
"""Kind, and what it looks like; every one has one of `HINTS`."""

COMMANDS = (
    r"\b(?:docker|podman|nerdctl|buildah|skopeo|oras|az|helm)\b[^\n|;]{0,60}?\blogin\b[^\n|;]{0,200}?\s-p[ =]?|\bswanlab\s+login\b[^\n|;]{0,100}?\s-k[ =]?"
    r"|\bmc\s+(?:alias\s+set|config\s+host\s+add)\s+\S{1,80}\s+\S{1,200}\s+\S{1,80}\s+|\bsmbclient\b[^\n|;]{0,200}?\s(?:-U|--user)[ =]?[^\s%]{1,60}%"
    r"|\baws\s+configure\s+set\s+[\w.-]{0,60}(?:key|token)\s+|\badd-authtoken\s+|\s--from-literal[ =][\w.-]{1,80}=|\bpoetry\s+config\s+(?:http-basic\.\S{1,60}\s+\S{1,80}|pypi-token\.\S{1,60})\s+|\bhtpasswd\s+-\w{0,4}b\w{0,4}\s+\S{1,200}\s+\S{1,80}\s+"
    r"|\blftp\b[^\n|;]{0,100}?\s-u\s?[^\s,]{1,80},|\b(?:echo|printf)\s+(?:-n\s+|[\"']%s(?:\\n)?[\"']\s+)?[\"']?(?=[^\s|\"']{6,200}[\"']?\s{0,3}\|\s{0,3}(?:sudo|kinit|su|chpasswd|cryptsetup|gpg|openssl|sshpass|passwd)\b)"
    r"|\b(?:echo|printf)\s+(?:-n\s+|[\"']%s(?:\\n)?[\"']\s+)?[\"']?(?=[^\s|\"']{6,200}[\"']?\s{0,3}\|[^\n|;]{0,200}(?:\slogin\b|-stdin\b|--with-token))"
    r"|\becho\s+(?:-n\s+)?[\"']?(?=[^\s|\"'>]{8,200}[\"']?\s{0,3}>{1,2}\s{0,3}\S{0,200}(?:token|netrc|secret|credential|passw|api_?key))"
    r"|\b(?:kinit|sudo|gpg|login)\b[^\n|;<]{0,120}<<<\s{0,2}"
)
PLACES = (
    r"\bwandb\.login\([^)\n]{0,80}?\bkey\s?=\s?[\"']|\bbindpw\s+|\bUnseal Key \d+:\s+|\baccount\.key\.[\w.-]{1,120}\s?=\s?|\bjdbc:oracle:\w{1,10}:[^/\s]{1,80}/(?=[^@\s]{4,80}@)"
    r"|\b(?:Private|Preshared)Key\s?=\s?(?=[A-Za-z0-9+/]{43}=)|(?:\bX-[A-Za-z-]{1,30}|\bOcp-Apim-Subscription)-(?:Key|Token|Secret)[\"']?:\s?[\"']?"
    r"|^[ \t]{0,12}password[ \t]+(?=\S{6,200}[ \t]*$)|\bconda\.\S{1,80}/t/(?=[^\s/]{8,80}/)|\bifttt\.com/trigger/[^\s]{1,80}/with/key/"
)
"""What comes before a secret: commands that take one, and places where one stands."""
BEHIND = lazy.compile(
    rf"(?im)({COMMANDS}|{PLACES}|"
    r"\b(?:SSHPASS|PGPASS)=|(?:^|\s)--?pass(?:phrase|in|out)?[ =](?:pass:)?|\bipmitool\b[^\n|;]{0,200}?\s-P ?|\bredis-cli\b[^\n|;]{0,200}?\s(?:-a|--pass) ?"
    r"|\bmongo(?:sh|dump|restore)?\b[^\n|;]{0,200}?\s-p ?|\bldap(?:search|modify|add|whoami|passwd)\b[^\n|;]{0,200}?\s-w ?|\b(?:7za?|unrar|unzip)\b[^\n|;]{0,60}?\s-[pP](?=\S)|\b(?:unzip|zip)\b[^\n|;]{0,60}?\s(?-i:-P) ?"
    r"|\bpasswor[dt]\s(?:is|was)\s+[\"']?|(?<![a-z0-9_])pwd=(?![./~$])|\bSSWS\s|\bGenieKey\s|\$oauthtoken:|[?&]code=(?=[^\s&]{30})|\bclient-key-data:\s{0,3}|\brouting_key[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
    r"|\bAccessKeySecret[\"']?\s{0,3}[:=]\s{0,3}[\"']?|\\\"(?:password|passwd|secret|token|api_key|apikey)\\\"\s{0,3}:\s{0,3}\\\")[\"']?([^\s\"'\\;&<>]{6,4000})"
)
"""What comes before a secret, and the secret."""

LOOSE = lazy.compile(
    r"(?i)((?<![a-z0-9])(?:token\d{0,2}|(?:secret|api|access) key|[a-z0-9_]{1,40}_(?:sk|token))[\"']?\]?\s{0,3}[=:]\s{0,3}b?[\"']?"
    r"|[\"']username[\"']:\s?[\"'][^\"']{1,80}[\"'],\s?[\"']key[\"']:\s?[\"'])([A-Za-z0-9._~+/=-]{20,512})"
)
"""Names that ordinary things have too: what follows must look random."""

HINTS = tuple(
    """
    $apr1$ $2a$ $2b$ $2y$ $5$ $6$ $1$ $y$ argon2 webhook /hook telegram sspass sshpass pgpass geniekey ssws mongo redis-cli ipmitool ldap
    7z unrar unzip -pass password passwort oauthtoken &code ?code key-data routing_key keysecret pwd= \\" key: token= token: token" token'
    _sk= "key" 'key' login alias smbclient aws_s authtoken -literal sudo bindpw unseal account.key jdbc:oracle privatekey presharedkey
    -key: -token: -secret: -key" -token" -secret" -key' -token' -secret' ifttt kinit <<< chpasswd cryptsetup gpg openssl -stdin --with-token printf token1 token2 poetry htpasswd lftp conda. echo
    """.split()  # noqa: SIM905
)
"""A piece, in small letters, of everything that has no long run of letters and digits."""
BEGINNINGS = tuple(
    """
    1//0 ABSK IQoJ FwoG FQoG LTAI AKID AQVN t1. CW-SECRET HRKU- pscale_ sb_secret sbp_ fo1_ fm1 fm2 rnd_ nfb_ nfc_ nfo_ nfp_ nfu_ vca_ vci_
    vck_ vcp_ vcr_ pul- tskey- rpa_ ak- as- gAAAAA sk-lf- sk_ lsv2_ tgp_ fw_ csk- pa- pcsk_ tvly- KGAT_ pnu_ secret_ rf_ AZDO shp SK key-
    -us EAAA sq0 ntn_ figd_ pat PMAK NRAK rubygems_ cio CCI bk AKCp cmVmd sqa_ sqp_ squ_ snyk_ syt_ s. AKLT GOOG1E DO00 v1.0- amzn.mws jina_ isat_ phx_ phs_ nk- ms- inq_ ops_eyJ dt0 tfp_ CFPAT- api- sdk- mob- JQQJ9 esecret_ e2b_ fc-
    sl.u. hcaik_ oy2 BSA ico- 4b1d
    """.split()  # noqa: SIM905
)
"""A piece of each of `ISSUED`."""
LONG = lazy.compile(r"[A-Za-z0-9]{20}|[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![0-9a-fA-F])")
"""What everything else above has: a run of letters and digits, or the end of a UUID."""
