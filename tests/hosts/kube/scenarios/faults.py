"""Ways in which a cluster breaks, as commands that are typed on a host."""

EXPIRE = r"""set -e; pki=/etc/kubernetes/pki; mkdir -p /root/expire; cd /root/expire; rm -f *
printf '[ca]\ndefault_ca=d\n[d]\ndatabase=db\nnew_certs_dir=.\nserial=sn\ndefault_md=sha256\npolicy=p\n' > cnf
printf 'copy_extensions=copy\n[p]\ncommonName=supplied\n' >> cnf; touch db; echo 01 > sn
names=$(openssl x509 -in $pki/apiserver.crt -noout -ext subjectAltName | tail -1 | tr -d ' ' | sed 's/IPAddress/IP/g')
openssl req -new -key $pki/apiserver.key -subj /CN=kube-apiserver -addext "subjectAltName=$names" \
  -addext extendedKeyUsage=serverAuth -out csr
openssl ca -batch -notext -config cnf -in csr -cert $pki/ca.crt -keyfile $pki/ca.key -out $pki/apiserver.crt \
  -startdate 20200101000000Z -enddate 20200102000000Z
/opt/groundcrew/kubernetes/stop-control-plane"""
"""Signed by the authority that the nodes know, with the names that it has: only its time is over."""
