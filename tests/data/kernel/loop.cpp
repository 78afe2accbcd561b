template<class T> void f(T*a,const T*b,int n){ for(int i=0;i<n;++i) a[i]=b[i]*2; }
